/** Starts a server in a process that cannot import one package. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../scenarios/server.ts'

const root = join(import.meta.dirname, '../..')

/** Returns its log, or the code and the message of its error. `options` is source text. */
export async function startWithout(packageName: string, options: string): Promise<string> {
  const program = join(temporaryFolder(), 'program.mjs')
  writeFileSync(
    program,
    `
import { registerHooks } from 'node:module'
registerHooks({
  resolve(specifier, context, next) {
    return next(specifier === ${JSON.stringify(packageName)} ? 'a-package-that-is-not-installed' : specifier, context)
  },
})
const { createServer } = await import(${JSON.stringify(join(root, 'src/index.ts'))})
try {
  const server = await createServer({ operations: [], data: ${JSON.stringify(temporaryFolder())}, log: 'info', ${options} })
  await server.close()
} catch ({ code, message }) {
  console.log(code, message)
}
`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=callplane-source', program])
  return stdout
}
