/** A durable call with its progress: started by an event, shown while it goes on, and resumed after a reload. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { type CallFault, isFault } from '../client/fault.ts'
import type { ProgressRun } from '../client/full-run.ts'
import type { CallOptions, Progress } from '../client/options.ts'

/** An operation of the full client that can be started. */
interface StartedOperation<Args, Result> {
  start(args: Args, options?: CallOptions): Promise<ProgressRun<Result>>
  resume(id: string): ProgressRun<Result>
}

interface RunState<Result> {
  readonly status: 'idle' | 'running' | 'complete' | 'error'
  /** Keep it, for example in the address of the page, to resume the run. */
  readonly id: string | undefined
  readonly progress: Progress | undefined
  readonly result: Result | undefined
  readonly error: CallFault | undefined
}

export interface RunControls<Args, Result> extends RunState<Result> {
  /** Starts a new run. An earlier one goes on at the server, but is no longer shown. */
  start(args: Args, options?: CallOptions): Promise<void>
  resume(id: string): Promise<void>
  /** Asks the server to stop the run. */
  cancel(): Promise<void>
}

const IDLE: RunState<never> = {
  status: 'idle',
  id: undefined,
  progress: undefined,
  result: undefined,
  error: undefined,
}

export function useRun<Args, Result>(operation: StartedOperation<Args, Result>): RunControls<Args, Result> {
  const [state, setState] = useState<RunState<Result>>(IDLE)
  /** The run that is shown. */
  const shown = useRef<{ run?: ProgressRun<Result>; leaving: AbortController }>(undefined)
  useEffect(() => () => shown.current?.leaving.abort(), [])

  const show = useCallback(async (open: (signal: AbortSignal) => Promise<ProgressRun<Result>>) => {
    shown.current?.leaving.abort()
    const leaving = new AbortController()
    const mine: typeof shown.current = { leaving }
    shown.current = mine
    const { signal } = leaving
    const tell = (change: Partial<RunState<Result>>) => {
      if (shown.current === mine && !signal.aborted) setState((before) => ({ ...before, ...change }))
    }
    tell({ ...IDLE, status: 'running' })
    try {
      const run = await open(signal)
      mine.run = run
      tell({ id: run.id })
      for await (const progress of run.progress({ signal })) tell({ progress })
      tell({ status: 'complete', result: await run.result({ signal }) })
    } catch (thrown) {
      if (!isFault(thrown)) throw thrown
      tell({ status: 'error', error: thrown })
    }
  }, [])

  return {
    ...state,
    start: (args, options) => show((signal) => operation.start(args, { signal, ...options })),
    resume: (id) => show(async () => operation.resume(id)),
    cancel: async () => {
      await shown.current?.run?.cancel()
    },
  }
}
