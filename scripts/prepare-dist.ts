/**
 * Empties `dist` and puts into it what the compiler does not: files that a module finds relative to itself, such as the
 * SQL of the migrations. The compiler keeps `src` file for file, so they are found the same way from both.
 */
import { cpSync, rmSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '..')

rmSync(join(root, 'dist'), { recursive: true, force: true })
cpSync(join(root, 'src'), join(root, 'dist'), {
  recursive: true,
  filter: (source) => statSync(source).isDirectory() || extname(source) !== '.ts',
})
