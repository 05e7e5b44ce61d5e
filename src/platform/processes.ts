/**
 * Runs programs without a shell, with bounded output, and ends each one together with the programs that it started. The
 * caller interprets exit codes and output.
 */
import { type ChildProcess, type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export interface Program {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** The whole environment (default: the server's own). */
  readonly env?: NodeJS.ProcessEnv
  /** Written to the program's standard input, which is then closed. */
  readonly input?: string
  /** Maximum size of the standard output. The rest is discarded. */
  readonly maxBytes: number
  /** How much of the end of the standard error is kept (default: 4096). */
  readonly maxErrorBytes?: number
  /** Opened for this program alone, which takes them over (default: Node's own, which are sockets). */
  readonly output?: OutputPipes
}

export interface OutputPipes {
  /** The program's ends: its standard output and its standard error. */
  readonly ends: readonly [number, number]
  /** The server's ends. */
  readonly stdout: Readable
  readonly stderr: Readable
  /** Closes the server's copies of `ends`. Otherwise the output would not end with the program. */
  closeEnds(): void
}

export interface ProgramExit {
  /** `undefined` if a signal ended the program. */
  readonly exitCode: number | undefined
  readonly signal: NodeJS.Signals | undefined
  readonly stdout: Buffer
  readonly stderr: string
  /** True if the input could not be written completely. */
  readonly inputBroke: boolean
}

export interface RunningProgram {
  /** Rejects with the system's error if the program could not be started. */
  readonly exit: Promise<ProgramExit>
  /** Resolves when the output exceeds `maxBytes`. */
  readonly overflow: Promise<void>
  /** Ends the program and the programs that it started, and stops reading. `exit` settles after that. */
  kill(): void
}

/** Windows has no process groups: there only the program itself is ended. */
export const HAS_GROUPS = process.platform !== 'win32'

export function startProgram(program: Program): RunningProgram {
  const { input = '', maxBytes, maxErrorBytes = 4_096 } = program
  const { child, stdin, stdout, stderr } = connect(program)
  const overflow = Promise.withResolvers<void>()
  const pieces: Buffer[] = []
  let bytes = 0
  stdout.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= maxBytes) pieces.push(piece)
    else overflow.resolve()
  })
  let errors = Buffer.alloc(0)
  stderr.on('data', (piece: Buffer) => {
    errors = Buffer.concat([errors, piece]).subarray(-maxErrorBytes)
  })
  // The pipe's error event does not show this: if the program has already ended, its pipe closes without an error.
  let inputBroke = input !== ''
  // A program need not read its input, so a closed pipe is not a failure.
  stdin.on('error', () => stdin.destroy())
  if (input !== '') {
    stdin.write(input, (error) => {
      inputBroke = error instanceof Error
    })
  }
  stdin.end()
  const exit = new Promise<ProgramExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', async (code, signal) => {
      // Node waits only for the streams that it made itself.
      await Promise.all([closeOf(stdout), closeOf(stderr)])
      resolve({
        exitCode: code ?? undefined,
        signal: signal ?? undefined,
        stdout: Buffer.concat(pieces),
        stderr: errors.toString('utf8'),
        inputBroke,
      })
    })
  })
  const kill = () => {
    // A program that left the group may hold the pipes open, so this side closes them.
    stdout.destroy()
    stderr.destroy()
    killGroup(child)
  }
  return { exit, overflow: overflow.promise, kill }
}

function connect(program: Program) {
  const { output } = program
  if (!output) {
    const child = spawnGroup(program, 'pipe') as ChildProcessWithoutNullStreams
    return { child, stdin: child.stdin, stdout: child.stdout, stderr: child.stderr }
  }
  const { ends, stdout, stderr } = output
  try {
    const child = spawnGroup(program, ['pipe', ...ends])
    return { child, stdin: child.stdin as Writable, stdout, stderr }
  } catch (error) {
    stdout.destroy()
    stderr.destroy()
    throw error
  } finally {
    output.closeEnds()
  }
}

/** The program leads its own process group, so that `killGroup` reaches every program that it started. */
export function spawnGroup(
  { file, args, cwd, env }: Pick<Program, 'file' | 'args' | 'cwd' | 'env'>,
  stdio: StdioOptions,
): ChildProcess {
  return spawn(file, [...args], { stdio, cwd, env, detached: HAS_GROUPS, windowsHide: true })
}

async function closeOf(stream: Readable): Promise<void> {
  if (!stream.closed) await new Promise((resolve) => void stream.once('close', resolve))
}

export type Ending = 'exited' | 'timed-out' | 'overflowed' | 'aborted'

export interface ProgramLimits {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Runs a program until it ends, or kills it at a limit. Rejects only if the program could not be started. */
export async function runProgram(
  program: Program,
  { timeoutMs, signal }: ProgramLimits,
): Promise<ProgramExit & { ending: Ending }> {
  const running = startProgram(program)
  const cut = Promise.withResolvers<Ending>()
  const late = setTimeout(cut.resolve, timeoutMs, 'timed-out')
  const abort = () => cut.resolve('aborted')
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const ending = await Promise.race([
      cut.promise,
      running.overflow.then((): Ending => 'overflowed'),
      running.exit.then((): Ending => 'exited'),
    ])
    if (ending !== 'exited') running.kill()
    return { ...(await running.exit), ending }
  } finally {
    clearTimeout(late)
    signal?.removeEventListener('abort', abort)
  }
}

export function killGroup(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  const { pid } = child
  if (pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-pid, signal)
    else child.kill(signal)
  } catch (error) {
    // The whole group has exited, or only processes are left that belong to another user.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
