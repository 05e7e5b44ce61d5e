/** A process that cannot import one package. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../scenarios/server.ts'

const root = join(import.meta.dirname, '../..')

/** Returns its log, or the code and the message of its error. `options` is source text. */
export function startWithout(packageName: string, options: string): Promise<string> {
  return runWithout(
    packageName,
    `
const { createServer } = await import(${JSON.stringify(join(root, 'src/index.ts'))})
const server = await createServer({ operations: [], data: ${JSON.stringify(temporaryFolder())}, log: 'info', ${options} })
await server.close()
`,
  )
}

/** Runs source text. Returns its output, or the code and the message of its error. */
export async function runWithout(packageName: string, source: string): Promise<string> {
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
try {
  ${source}
} catch ({ code, message }) {
  console.log(code, message)
}
`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=callplane-source', program])
  return stdout
}
