/** One container from its start until it is gone: input in, output out, and ended from outside where it must be. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import { type Engine, runCommand } from './engine.ts'

/** Of what the tool says on its error output; the end of it tells most. */
const MAX_STDERR = 4_096
/** How often a container that was just being made is looked for again. */
const REMOVALS = 5

export interface Finished {
  /** Absent if a signal ended the engine's own program. */
  exitCode: number | undefined
  stdout: Buffer
  stderr: string
  /** The input could not be written to its end. */
  inputBroke: boolean
}

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
export async function runContainer(options: RunOptions): Promise<Finished> {
  const { engine, args, environment, input, maxBytes, signal } = options
  signal.throwIfAborted()
  // Not in the working folder: podman's monitor leaves a file named "oom" where it stands when memory runs out.
  const file = engine.file.includes('/') ? resolve(engine.file) : engine.file
  const child = spawn(file, [...engine.args, ...args], {
    stdio: 'pipe',
    cwd: tmpdir(),
    env: { ...process.env, ...environment },
  })
  const exited = exitOf(child)
  const cut = Promise.withResolvers<never>()
  const onAbort = () => cut.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })

  const stdout: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= maxBytes) stdout.push(chunk)
    else cut.reject(tooMuch(maxBytes))
  })
  let stderr = Buffer.alloc(0)
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-MAX_STDERR)
  })
  // A tool need not read its input: that the pipe is closed before all of it is written is no failure in itself.
  child.stdin.on('error', (error) => options.log.debug({ err: error }, 'The container did not read all of its input.'))
  // Not known from that error: when the program has ended first, its pipe is closed without one.
  let inputBroke = true
  child.stdin.write(input, (error) => {
    inputBroke = error instanceof Error
  })
  child.stdin.end()

  try {
    const exitCode = await Promise.race([exited, cut.promise])
    return { exitCode, stdout: Buffer.concat(stdout), stderr: stderr.toString('utf8'), inputBroke }
  } catch (thrown) {
    await stop(child, exited, options)
    throw thrown
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function exitOf(child: ChildProcessWithoutNullStreams): Promise<number | undefined> {
  return new Promise((done, failed) => {
    child.once('error', (cause) =>
      failed(
        new Fault(
          'isolation-unavailable',
          'The container engine could not be started; the server log has the reason.',
          {
            cause,
          },
        ),
      ),
    )
    child.once('close', (code) => done(code ?? undefined))
  })
}

/**
 * The container is not a child of ours, so ending the engine's program does not end it. It is removed by name; and once
 * more after that program is gone, which may have been about to make it.
 */
async function stop(
  child: ChildProcessWithoutNullStreams,
  exited: Promise<unknown>,
  { engine, name, log }: RunOptions,
): Promise<void> {
  child.stdout.destroy()
  await removeContainer(engine, name)
  child.kill('SIGKILL')
  await Promise.allSettled([exited])
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
