/** One container from its start until it is gone: input in, output out, and ended from outside where it must be. */
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { type ProgramExit, type RunningProgram, startProgram } from '../../platform/processes.ts'
import { type Engine, runCommand } from './engine.ts'

/** Of what the tool says on its error output; the end of it tells most. */
const MAX_STDERR = 4_096
/** How often a container that was just being made is looked for again. */
const REMOVALS = 5

export interface RunOptions {
  engine: Engine
  args: readonly string[]
  /** Of the engine's program, besides our own. */
  environment: Readonly<Record<string, string>>
  name: string
  input: string
  maxBytes: number
  signal: AbortSignal
  log: Log
}

/** Rejects with the signal's reason, or with a fault if the output is too large; in both cases the container is gone. */
export async function runContainer(options: RunOptions): Promise<ProgramExit> {
  const { engine, args, environment, input, maxBytes, signal } = options
  signal.throwIfAborted()
  const program = startProgram({
    file: engine.file.includes('/') ? resolve(engine.file) : engine.file,
    args: [...engine.args, ...args],
    // Not in the working folder: podman's monitor leaves a file named "oom" where it stands when memory runs out.
    cwd: tmpdir(),
    env: { ...process.env, ...environment },
    input,
    maxBytes,
    maxErrorBytes: MAX_STDERR,
  })
  const exit = program.exit.catch((cause: unknown) => {
    throw notStarted(cause)
  })
  const cut = Promise.withResolvers<never>()
  const onAbort = () => cut.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const overflow = program.overflow.then(() => {
    throw tooMuch(maxBytes)
  })
  try {
    return await Promise.race([exit, cut.promise, overflow])
  } catch (thrown) {
    await stop(program, options)
    throw thrown
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function notStarted(cause: unknown): Fault {
  return new Fault(
    'isolation-unavailable',
    'The container engine could not be started; the server log has the reason.',
    { cause },
  )
}

/**
 * The container is not a child of ours, so ending the engine's program does not end it. It is removed by name; and once
 * more after that program is gone, which may have been about to make it.
 */
async function stop(program: RunningProgram, { engine, name, log }: RunOptions): Promise<void> {
  await removeContainer(engine, name)
  program.kill()
  await Promise.allSettled([program.exit])
  for (let left = REMOVALS; left > 0; left--) {
    const { ok, stdout } = await runCommand(engine, ['ps', '--all', '--quiet', `--filter=name=^${name}$`])
    if (ok && stdout.trim() === '') return
    await removeContainer(engine, name)
  }
  log.error(
    { container: name },
    'A container could not be removed; remove it by hand, or it goes when the server starts anew.',
  )
}

/** Fails where there is none, which is what is wanted: whether it is gone is looked at, not concluded from this. */
export async function removeContainer(engine: Engine, name: string): Promise<void> {
  await runCommand(engine, ['rm', '--force', name])
}

function tooMuch(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool wrote more than the ${maxBytes} bytes it may. Have it answer with less, or raise backend.maxBytes.`,
    { code: 'OUTPUT_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}
