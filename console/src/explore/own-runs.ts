/** The calls that this tab has made: the newest of each operation. They outlive the screen that started them. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Run } from './run/run.ts'

export interface OwnRuns {
  readonly all: ReadonlySignal<readonly Run[]>
  of(op: string): Run | undefined
  /** Takes the place of an earlier run of the same operation. */
  keep(run: Run): void
  /** For the next person at this tab: their streams end, and nothing of them stays. */
  leave(): void
}

export function createOwnRuns(): OwnRuns {
  const all = signal<readonly Run[]>([])
  const opOf = (run: Run) => run.parts.call.entry.op
  return {
    all,
    of: (op) => all.value.find((run) => opOf(run) === op),
    keep(run) {
      all.value = [run, ...all.peek().filter((one) => opOf(one) !== opOf(run))]
    },
    leave() {
      for (const run of all.peek()) if (run.state.peek().kind === 'streaming') void run.cancel()
      all.value = []
    },
  }
}

/** The run whose frames are those of a stream of the server. */
export function streamedBy(runs: readonly Run[], id: string): Run | undefined {
  return runs.find((run) => run.state.value && run.streamId === id)
}
