/** Builds a page that shows one part of the console, into a folder of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type PluginOption } from 'vite'

export interface BuiltPage extends Disposable {
  readonly folder: string
}

export async function buildPart(root: string, plugins: PluginOption[] = []): Promise<BuiltPage> {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-page-'))
  await build({
    configFile: join(import.meta.dirname, '../../../console/vite.config.ts'),
    logLevel: 'warn',
    root,
    plugins,
    build: { outDir: folder },
  })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
