/** The input and output of every command, so that a command runs in a test as well as in a process. */
import type { Readable, Writable } from 'node:stream'
import { Fault } from '../core/fault.ts'

export interface CommandIo {
  args: readonly string[]
  stdin: Readable & { isTTY?: boolean }
  stdout: Output
  stderr: Output
  env: Record<string, string | undefined>
  /** Aborts when the process is asked to end. */
  signal: AbortSignal
}

export type Output = Writable & { isTTY?: boolean; columns?: number }

/** Exit codes, the same for every command. */
export const EXIT = {
  ok: 0,
  /** The operation or the check failed. */
  failed: 1,
  /** The command line or the request is wrong. */
  usage: 2,
  unreachable: 3,
  /** The policy would hold the call for an approval. */
  held: 4,
  /** The server requires a token, or rejected the one it received. */
  needsToken: 5,
  /** 128 + SIGINT, as in shells. */
  interrupted: 130,
} as const

export interface Command {
  /** The help text, printed below the command's summary. */
  help: string
  run(io: CommandIo): Promise<number>
}

export function usageFault(message: string, cause?: unknown): Fault {
  return new Fault('malformed', message, { code: 'USAGE', cause })
}

export function unreachableFault(message: string, cause?: unknown): Fault {
  return new Fault('unavailable', message, { code: 'UNREACHABLE', cause })
}

/** No server responded, or one of another protocol did. */
const UNREACHED = new Set<string | undefined>(['UNREACHABLE', 'NOT_THIS_PROTOCOL'])

export function exitCodeOf(fault: Fault): number {
  if (fault.code === 'USAGE') return EXIT.usage
  if (fault.code === 'NEEDS_TOKEN') return EXIT.needsToken
  return UNREACHED.has(fault.code) ? EXIT.unreachable : EXIT.failed
}

export function print(output: Output, text: string): void {
  output.write(`${text}\n`)
}

export function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
