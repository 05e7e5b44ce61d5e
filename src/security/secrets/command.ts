/**
 * Secrets from a program, such as a password manager's: it is given the name as its last argument and prints the value,
 * or a JSON object of fields, or nothing if it has no such secret. No shell is involved.
 */
import { type ExecFileException, execFile } from 'node:child_process'
import { basename } from 'node:path'
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import type { Secret } from '../../core/ports/secrets.ts'
import type { Variables } from './environment.ts'
import { decodeSecretText, MAX_SECRET_BYTES, type SecretProvider, unusableSecret } from './provider.ts'

export interface CommandSecrets {
  command: readonly string[]
  env: Variables
  /** Where it runs. */
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

/** What it writes to standard error is not looked at: programs have been seen to print there what went in or out. */
function run(program: string, args: readonly string[], options: RunOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { ...options, encoding: 'buffer', maxBuffer: MAX_SECRET_BYTES, killSignal: 'SIGKILL', windowsHide: true },
      (error, stdout) => (error ? reject(unusableSecret(reasonOf(error, options.timeout))) : resolve(stdout)),
    )
    // One that asks for a password finds nobody there and ends.
    child.stdin?.on('error', () => child.stdin?.destroy())
    child.stdin?.end()
  })
}

/** Never the error's own message, which has the arguments and standard error in it. */
function reasonOf({ code, killed, signal }: ExecFileException, timeoutMs: number): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `the command printed more than ${MAX_SECRET_BYTES} bytes`
  if (killed) return `the command took longer than ${timeoutMs} ms`
  if (typeof code === 'number') return `the command ended with exit code ${code}`
  return `the command did not run (${code ?? signal ?? 'no reason given'})`
}

/** Its own secrets the server does not hand on. */
function withoutOwn(env: Variables): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CALLPLANE_')))
}

function parseOutput(text: string): Secret | undefined {
  if (text === '') return undefined
  const parsed = parseObject(text)
  if (parsed === undefined) return { value: text }
  const fields = Object.entries(parsed)
  if (!fields.every((field): field is [string, string] => typeof field[1] === 'string')) {
    throw unusableSecret('the command printed a JSON object with a field that is not text')
  }
  return fields.length > 0 ? { fields: Object.fromEntries(fields) } : undefined
}

function parseObject(text: string): Record<string, JsonValue> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const parsed = JSON.parse(text) as JsonValue
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    // A password may begin with a brace.
    return undefined
  }
}
