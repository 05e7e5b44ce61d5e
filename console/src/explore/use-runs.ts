/** Runs of this tab: how one is started, and how it goes to the history. */
import { useQueryClient } from '@tanstack/preact-query'
import { withoutSensitive } from '../forms/schema/sensitive.ts'
import { usePage } from '../shell/page.ts'
import { type CallHistory, MAX_KEPT_JSON, type PastCall } from './history/call-history.ts'
import { HISTORY_KEY, useHistory } from './history/use-history.ts'
import { isEnded, Run, type RunParts } from './run/run.ts'

export interface Runs {
  of(op: string): Run | undefined
  /** Does nothing while a run of the operation goes on, so that a double click runs once. */
  start(parts: Omit<RunParts, 'onEnd' | 'server'>): Run | undefined
  history: CallHistory | undefined
}

export function useRuns(): Runs {
  const { server, ownRuns } = usePage()
  const history = useHistory()
  const queries = useQueryClient()
  return {
    of: ownRuns.of,
    history,
    start(parts) {
      const before = ownRuns.of(parts.call.entry.op)
      if (before && !isEnded(before.state.peek())) return undefined
      const onEnd = async (ended: Run) => {
        // A history that is full or refused does not hold up the page.
        await history?.add(recordOf(ended)).catch(() => undefined)
        await queries.invalidateQueries({ queryKey: [HISTORY_KEY] })
      }
      const run = new Run({ ...parts, server, onEnd: (ended) => void onEnd(ended) })
      ownRuns.keep(run)
      void run.start()
      return run
    },
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
