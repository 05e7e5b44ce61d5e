/**
 * Secrets from a program, such as a password manager. The program receives the name as its last argument and prints the
 * value, or a JSON object of fields, or nothing if it has no such secret. No shell is involved.
 */
import { basename } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import type { Secret } from '../../core/ports/secrets.ts'
import { type Ending, type ProgramExit, runProgram } from '../../platform/processes.ts'
import type { Variables } from './environment.ts'
import { decodeSecretText, MAX_SECRET_BYTES, type SecretProvider, unusableSecret } from './provider.ts'

export interface CommandSecrets {
  command: readonly string[]
  env: Variables
  /** The working directory. */
  folder: string
  timeoutMs?: number
}

export function createCommandSecrets({ command, env, folder, timeoutMs = 10_000 }: CommandSecrets): SecretProvider {
  const [program = '', ...args] = command
  return {
    place: () => `the command ${basename(program)}`,
    async read(name, signal) {
      const output = await run(program, [...args, name], {
        env: withoutOwn(env),
        cwd: folder,
        timeout: timeoutMs,
        signal,
      })
      return parseOutput(decodeSecretText(output))
    },
  }
}

interface RunOptions {
  env: NodeJS.ProcessEnv
  cwd: string
  timeout: number
  signal: AbortSignal
}

/** Ignores standard error: some programs print secrets there. */
async function run(program: string, args: readonly string[], options: RunOptions): Promise<Buffer> {
  const { env, cwd, timeout: timeoutMs, signal } = options
  try {
    // Standard input is closed, so a program that asks for a password ends.
    const exit = await runProgram({ file: program, args, env, cwd, maxBytes: MAX_SECRET_BYTES }, { timeoutMs, signal })
    if (exit.ending === 'exited' && exit.exitCode === 0) return exit.stdout
    throw unusableSecret(reasonOf(exit, timeoutMs))
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown
    // The error's own message contains the arguments, so it is not passed on.
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no reason given'
    throw unusableSecret(`the command did not run (${code})`)
  }
}

function reasonOf({ ending, exitCode, signal }: ProgramExit & { ending: Ending }, timeoutMs: number): string {
  if (ending === 'overflowed') return `the command printed more than ${MAX_SECRET_BYTES} bytes`
  if (ending === 'timed-out') return `the command took longer than ${timeoutMs} ms`
  if (ending === 'aborted') return 'the command was called off'
  return exitCode === undefined ? `the command was ended by ${signal}` : `the command ended with exit code ${exitCode}`
}

/** Does not pass the server's own secrets to the program. */
function withoutOwn(env: Variables): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CALLPLANE_')))
}

function parseOutput(text: string): Secret | undefined {
  if (text === '') return undefined
  const parsed = parseObject(text)
  if (parsed === undefined) return { value: text }
  const fields = Object.entries(parsed)
  if (!fields.every((field): field is [string, string] => typeof field[1] === 'string')) {
    throw unusableSecret('the command printed a JSON object with a field that is not a string')
  }
  return fields.length > 0 ? { fields: Object.fromEntries(fields) } : undefined
}

function parseObject(text: string): Record<string, JsonValue> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const parsed = JSON.parse(text) as JsonValue
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    // Not JSON: a password may begin with a brace.
    return undefined
  }
}
