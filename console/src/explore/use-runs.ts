/** Runs of this page: the newest of each operation, and the history that they go to. */
import { useMemo, useRef, useState } from 'preact/hooks'
import { withoutSensitive } from '../forms/schema/sensitive.ts'
import { usePage, useWho } from '../shell/page.ts'
import { type CallHistory, MAX_KEPT_JSON, openHistory, type PastCall } from './history/call-history.ts'
import { isEnded, Run, type RunParts } from './run/run.ts'

export interface Runs {
  of(op: string): Run | undefined
  /** Does nothing while a run of the operation goes on, so that a double click runs once. */
  start(parts: Omit<RunParts, 'onEnd' | 'server'>): Run | undefined
  history: CallHistory | undefined
  /** Changes when the history does. */
  version: number
}

export function useRuns(): Runs {
  const { server } = usePage()
  const { caller } = useWho()
  const runs = useRef(new Map<string, Run>())
  const [version, setVersion] = useState(0)
  const history = useMemo(() => {
    const factory = storageFactory()
    return factory && openHistory(factory, JSON.stringify([server.base, caller.tenant, caller.owner]))
  }, [server, caller.tenant, caller.owner])
  return {
    of: (op) => runs.current.get(op),
    history,
    version,
    start(parts) {
      const { op } = parts.call.entry
      const before = runs.current.get(op)
      if (before && !isEnded(before.state.peek())) return undefined
      const onEnd = async (ended: Run) => {
        await history?.add(recordOf(ended)).catch(() => undefined)
        setVersion((count) => count + 1)
      }
      const run = new Run({ ...parts, server, onEnd: (ended) => void onEnd(ended) })
      runs.current.set(op, run)
      setVersion((count) => count + 1)
      void run.start()
      return run
    },
  }
}

/** A browser can refuse storage; then there is no history. */
function storageFactory(): IDBFactory | undefined {
  try {
    return globalThis.indexedDB
  } catch {
    return undefined
  }
}

function recordOf(run: Run): Omit<PastCall, 'id'> {
  const { call, wire } = run.parts
  const state = run.state.peek()
  if (!isEnded(state)) throw new Error('The run has not ended.')
  const kept = withoutSensitive(call.argsText, call.entry.argsSchema) ?? '{}'
  return {
    op: call.entry.op,
    wire: wire.id,
    argsText: kept,
    at: run.startedAt,
    durationMs: run.durationMs ?? 0,
    outcome: state.kind,
    ...(state.kind === 'value' && state.json.length <= MAX_KEPT_JSON && { json: state.json }),
    ...(state.kind === 'failed' && { message: state.failure.message }),
    ...(state.kind === 'failed' && state.failure.code !== undefined && { code: state.failure.code }),
    // The bytes that were sent hold the sensitive fields.
    exchanges: kept !== call.argsText ? run.exchanges.peek().map(({ body: _, ...rest }) => rest) : run.exchanges.peek(),
  }
}
