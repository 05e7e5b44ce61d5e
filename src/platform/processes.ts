/**
 * Programs that this server starts: without a shell, with bounded output, and ended together with every program that
 * they started. What an exit code or an output means is for the user.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'

export interface Program {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  /** The whole environment (default: the server's own). */
  readonly env?: NodeJS.ProcessEnv
  /** Written to its standard input, which is then closed. */
  readonly input?: string
  /** Of its standard output. More than that is not kept. */
  readonly maxBytes: number
  /** Of its standard error, whose end is kept (default: 4096). */
  readonly maxErrorBytes?: number
}

export interface ProgramExit {
  /** Absent if a signal ended it. */
  readonly exitCode: number | undefined
  readonly signal: NodeJS.Signals | undefined
  readonly stdout: Buffer
  readonly stderr: string
  /** The input could not be written to its end. */
  readonly inputBroke: boolean
}

export interface RunningProgram {
  /** Rejects with the system's error if the program could not be started. */
  readonly exit: Promise<ProgramExit>
  /** Settles once it has written more than it may. */
  readonly overflow: Promise<void>
  /** Ends it and what it started, and stops reading. `exit` settles after that. */
  kill(): void
}

/** Windows has no process groups: there the program alone is ended. */
const HAS_GROUPS = process.platform !== 'win32'

export function startProgram(program: Program): RunningProgram {
  const { file, args, cwd, env, input = '', maxBytes, maxErrorBytes = 4_096 } = program
  // As the leader of a group of its own, so that one signal reaches everything that it started.
  const child = spawn(file, [...args], { stdio: 'pipe', cwd, env, detached: HAS_GROUPS, windowsHide: true })
  const overflow = Promise.withResolvers<void>()
  const stdout: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= maxBytes) stdout.push(piece)
    else overflow.resolve()
  })
  let stderr = Buffer.alloc(0)
  child.stderr.on('data', (piece: Buffer) => {
    stderr = Buffer.concat([stderr, piece]).subarray(-maxErrorBytes)
  })
  // Not known from the pipe's error: when the program has ended first, its pipe is closed without one.
  let inputBroke = input !== ''
  // A program need not read its input, so a pipe that it closed is no failure in itself.
  child.stdin.on('error', () => child.stdin.destroy())
  if (input !== '') {
    child.stdin.write(input, (error) => {
      inputBroke = error instanceof Error
    })
  }
  child.stdin.end()
  const exit = new Promise<ProgramExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) =>
      resolve({
        exitCode: code ?? undefined,
        signal: signal ?? undefined,
        stdout: Buffer.concat(stdout),
        stderr: stderr.toString('utf8'),
        inputBroke,
      }),
    )
  })
  return { exit, overflow: overflow.promise, kill: () => killGroup(child) }
}

export type Ending = 'exited' | 'timed-out' | 'overflowed' | 'aborted'

export interface ProgramLimits {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Runs a program to its end, or to a limit, where it is killed. Rejects only if it could not be started. */
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

function killGroup(child: ChildProcessWithoutNullStreams): void {
  // A program that left the group may hold the pipes open: they are closed from this side.
  child.stdout.destroy()
  child.stderr.destroy()
  const { pid } = child
  if (pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch (error) {
    // The whole group is gone already, which is what is wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
