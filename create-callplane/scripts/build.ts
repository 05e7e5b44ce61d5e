/** Compiles the package before it is packed: Node does not run TypeScript below `node_modules`. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '..')

rmSync(join(folder, 'dist'), { recursive: true, force: true })
execFileSync(process.execPath, [join(folder, '../node_modules/typescript/bin/tsc'), '--project', folder], {
  stdio: 'inherit',
})
