/**
 * Builds the page into `dist/console`. All URLs are relative, so it works below any path. Every file has a hashed name
 * (except `index.html` and the icon) and is stored compressed beside itself. Nothing is inlined: the page's policy
 * forbids inline scripts and styles.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

const OUT = join(import.meta.dirname, '../dist/console')
/** Below this size a compressed copy saves nothing. */
const WORTH_COMPRESSING = 512

/** The script that sets the theme before the first paint: a classic script, which Vite does not bundle. */
function themeScript(): Plugin {
  const source = readFileSync(join(import.meta.dirname, 'theme.js'), 'utf8')
  const name = `assets/theme-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.js`
  return {
    name: 'callplane-theme',
    apply: 'build',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source })
    },
    transformIndexHtml: {
      order: 'post',
      handler: () => [{ tag: 'script', attrs: { src: `./${name}` }, injectTo: 'head' }],
    },
  }
}

function compressedCopies(): Plugin {
  let folder = OUT
  return {
    name: 'callplane-compress',
    apply: 'build',
    configResolved({ build }) {
      folder = build.outDir
    },
    closeBundle() {
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(?:html|js|css|svg)$/.test(entry.name)) continue
        const file = join(entry.parentPath, entry.name)
        const bytes = readFileSync(file)
        if (bytes.length < WORTH_COMPRESSING) continue
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
      }
    },
  }
}

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  plugins: [themeScript(), compressedCopies()],
})
