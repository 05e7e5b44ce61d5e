/** The only place that defines which state may follow which. Stores compare and set; they never decide. */

export type State = 'accepted' | 'pending' | 'streaming' | 'complete' | 'error'

/**
 * OpenCALL, "Backend Execution Model": forward only; `pending` may be skipped; `complete` and `error` are final. A
 * change may also keep the state: an approval makes an `accepted` call due, a `pending` call is tried again, handed back
 * or waits, and a reader connects to a `streaming` call.
 */
const NEXT: Record<State, readonly State[]> = {
  accepted: ['accepted', 'pending', 'streaming', 'complete', 'error'],
  pending: ['pending', 'streaming', 'complete', 'error'],
  streaming: ['streaming', 'complete', 'error'],
  complete: [],
  error: [],
}

export const STATES = Object.keys(NEXT) as readonly State[]

export function isTerminal(state: State): boolean {
  return NEXT[state].length === 0
}

export function mayFollow(from: State, to: State): boolean {
  return NEXT[from].includes(to)
}

/** The states from which an instance may change to `to`. The store compares against them. */
export function statesBefore(to: State): readonly State[] {
  return BEFORE[to]
}

const BEFORE = Object.fromEntries(
  STATES.map((to) => [to, STATES.filter((from) => mayFollow(from, to))]),
) as unknown as Readonly<Record<State, readonly State[]>>
