/**
 * Empties `dist`, except the console's files, and copies the files that the compiler does not: files that a module loads relative to itself, such as
 * the SQL of the migrations. The compiler keeps the layout of `src`, so the relative paths work in both.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

const dist = join(root, 'dist')
mkdirSync(dist, { recursive: true })
// The console is built again only if its sources have changed, and a running server may read its files.
for (const name of readdirSync(dist)) if (name !== 'console') rmSync(join(dist, name), { recursive: true, force: true })
cpSync(join(root, 'src'), dist, {
  recursive: true,
  filter: (source) => statSync(source).isDirectory() || extname(source) !== '.ts',
})
