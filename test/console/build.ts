/** Builds the page for tests, into a folder of its own, so that files that run at the same time do not disturb each other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'

export interface BuiltPage extends Disposable {
  readonly folder: string
}

/** `root` is another page than the console, as in `console/test`. */
export async function buildPage(root?: string): Promise<BuiltPage> {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-page-'))
  await build({
    configFile: join(import.meta.dirname, '../../console/vite.config.ts'),
    logLevel: 'warn',
    ...(root && { root }),
    build: { outDir: folder },
  })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
