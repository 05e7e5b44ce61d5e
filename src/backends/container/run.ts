/**
 * Runs one container from start to removal: writes the input, reads the output, and stops the container on abort or
 * overflow.
 */
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { openOutputPipes } from '../../platform/pipes.ts'
import { type ProgramExit, type RunningProgram, startProgram } from '../../platform/processes.ts'
import { type Engine, runCommand } from './engine.ts'

/** Only the end of the tool's standard error is kept, because the cause is usually there. */
const MAX_STDERR = 4_096
/** How many times the server looks for a container that was being created while the call stopped. */
const REMOVALS = 5
/**
 * The shell makes the pipe for the input. A socket or a pipe with a name would not do: a tool cannot open a socket as
 * /dev/stdin, and opening a named pipe waits forever once the server has written all of the input.
 */
const WITH_PIPE = 'cat | exec "$@"'

export interface RunOptions {
  engine: Engine
  args: readonly string[]
  /** Added to the server's own environment for the engine's program. */
  environment: Readonly<Record<string, string>>
  name: string
  /** Whether the container gets the standard streams of the engine's program. */
  passStreams: boolean
  input: string
  maxBytes: number
  signal: AbortSignal
  log: Log
}

/**
 * Rejects with the signal's reason, or with a fault if the output is too large. In both cases the container is removed
 * first.
 */
export async function runContainer(options: RunOptions): Promise<ProgramExit> {
  const { maxBytes, signal } = options
  signal.throwIfAborted()
  const program = await startEngine(options)
  const exit = program.exit.catch(notStarted)
  const cut = Promise.withResolvers<never>()
  const onAbort = () => cut.reject(signal.reason)
  if (signal.aborted) onAbort()
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

async function startEngine(options: RunOptions): Promise<RunningProgram> {
  const { engine, args, environment, passStreams, input, maxBytes } = options
  const file = engine.file.includes('/') ? resolve(engine.file) : engine.file
  const command = [file, ...engine.args, ...args] as const
  const common = {
    // Not the working folder: podman's monitor writes a file named "oom" to its current folder when memory runs out.
    cwd: tmpdir(),
    env: { ...process.env, ...environment },
    input,
    maxBytes,
    maxErrorBytes: MAX_STDERR,
  }
  if (!passStreams) return startProgram({ ...common, file, args: command.slice(1) })
  const output = await openOutputPipes().catch(notStarted)
  return startProgram({ ...common, file: '/bin/sh', args: ['-c', WITH_PIPE, 'sh', ...command], output })
}

function notStarted(cause: unknown): never {
  throw new Fault(
    'isolation-unavailable',
    'The container engine could not be started; the server log has the reason.',
    { cause },
  )
}

/**
 * The container is not a child process of this server, so killing the engine's program does not stop it. The server
 * removes it by name, and again after that program exits, because the program may have been about to create it.
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
  log.error({ container: name }, 'could not remove a container; remove it manually, or restart the server to remove it')
}

/**
 * The command fails if there is no such container. The caller checks that the container is gone instead of relying on
 * this.
 */
export async function removeContainer(engine: Engine, name: string): Promise<void> {
  await runCommand(engine, ['rm', '--force', name])
}

function tooMuch(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool wrote more than ${maxBytes} bytes. Change the tool to write less, or raise backend.maxBytes.`,
    { code: 'OUTPUT_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}
