/**
 * Empties `dist` and copies the files that the compiler does not: files that a module loads relative to itself, such as
 * the SQL of the migrations. The compiler keeps the layout of `src`, so the relative paths work in both.
 */
import { cpSync, rmSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

rmSync(join(root, 'dist'), { recursive: true, force: true })
cpSync(join(root, 'src'), join(root, 'dist'), {
  recursive: true,
  filter: (source) => statSync(source).isDirectory() || extname(source) !== '.ts',
})
