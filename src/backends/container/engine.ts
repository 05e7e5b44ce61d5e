/** Finds the docker or podman program and runs short commands with it. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'
import { runProgram } from '../../platform/processes.ts'

/** podman comes first: it needs no daemon, so it works wherever its program is installed. */
const KNOWN = ['podman', 'docker'] as const

export interface Engine {
  readonly file: string
  /** Arguments placed before every command. */
  readonly args: readonly string[]
}

/** Searches again on each call, so installing an engine needs no restart. Relative paths start at `folder`. */
export async function findEngine(
  wanted: string | undefined,
  args: readonly string[],
  folder: string,
): Promise<Engine | undefined> {
  const names = wanted === undefined ? KNOWN : [wanted]
  for (const name of names) {
    const file = await findProgram(name, folder)
    if (file !== undefined) return { file, args }
  }
  return undefined
}

export function noEngine(wanted: string | undefined): Fault {
  const advice =
    wanted === undefined
      ? 'Neither podman nor docker is on the PATH of the server. Install one of them, or name it in backend.engine.'
      : `There is no program ${wanted}. Install it, or correct backend.engine.`
  return new Fault('isolation-unavailable', `This operation runs in a container. ${advice}`, {
    details: { engine: wanted ?? KNOWN.join(' or ') },
  })
}

async function findProgram(name: string, folder: string): Promise<string | undefined> {
  const isPath = name.includes('/') || isAbsolute(name)
  const candidates = isPath
    ? [resolve(folder, name)]
    : (process.env.PATH ?? '').split(delimiter).flatMap((each) => (each === '' ? [] : [join(each, name)]))
  for (const file of candidates) if (await isProgram(file)) return file
  return undefined
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    // Missing, or not executable for this user: try the next folder. The caller reports it if no folder has the
    // program.
    return false
  }
}

export interface CommandResult {
  ok: boolean
  stdout: string
  stderr: string
}

/** An engine whose daemon hangs must not block a call or the shutdown. A removal takes up to 10 s. */
const COMMAND_MS = 30_000
const MAX_OUTPUT = 1024 * 1024

/** Does not throw: the meaning of a failure depends on the command. */
export async function runCommand(
  { file, args }: Engine,
  command: readonly string[],
  timeoutMs = COMMAND_MS,
): Promise<CommandResult> {
  try {
    const program = { file, args: [...args, ...command], maxBytes: MAX_OUTPUT }
    const { ending, exitCode, stdout, stderr } = await runProgram(program, { timeoutMs })
    const ok = ending === 'exited' && exitCode === 0
    const reason = `${command.join(' ')} failed (${ending === 'exited' ? `exit code ${exitCode}` : ending})`
    return { ok, stdout: stdout.toString('utf8'), stderr: stderr === '' && !ok ? reason : stderr }
  } catch (thrown) {
    return { ok: false, stdout: '', stderr: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}
