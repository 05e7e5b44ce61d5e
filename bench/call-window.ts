/** Keeps a number of calls in progress on one line of messages, for a time. It checks every reply. */
import type { LoadResult } from './load.ts'

/** Carries messages to a server and back. */
export interface Line {
  send(text: string): void
  /** Gets every message from the server. */
  receive: (text: string) => void
}

export interface CallWire {
  /** The call with this number. It adds 1 to the number. */
  encode(n: number): string
  /** The number and the sum. `undefined` for a message that is no reply. */
  decode(text: string): { n: number; sum: unknown } | undefined
}

export interface CallWindow {
  /** The number of the first call. */
  first: number
  inFlight: number
  durationMs: number
}

/** Without percentiles: a call waits for the others on its line. */
export type WindowResult = Omit<LoadResult, 'p50Ms' | 'p99Ms'>

/** Resolves when the time is over and every call has its reply. */
export function runWindow(line: Line, wire: CallWire, { first, inFlight, durationMs }: CallWindow) {
  const done = Promise.withResolvers<WindowResult & { next: number }>()
  const startedAt = performance.now()
  const result = { calls: 0, wrong: 0, firstWrong: '', elapsedMs: 0 }
  let next = first
  let waiting = 0
  const call = () => {
    waiting++
    line.send(wire.encode(next++))
  }
  line.receive = (text) => {
    const reply = wire.decode(text)
    if (!reply) return
    if (reply.n >= first && reply.n < next && reply.sum === reply.n + 1) result.calls++
    else {
      result.wrong++
      result.firstWrong ||= text
    }
    waiting--
    if (performance.now() - startedAt < durationMs) call()
    else if (waiting === 0) {
      result.elapsedMs = performance.now() - startedAt
      done.resolve({ ...result, next })
    }
  }
  for (let n = 0; n < inFlight; n++) call()
  return done.promise
}
