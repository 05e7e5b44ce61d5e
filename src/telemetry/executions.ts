/** One line in the log for each execution, once it has ended: who ran what, when, how often, and what became of it. */
import type { Execution, Log, Observer } from '../core/ports.ts'
import { authFields, outcomeFields, type ToolWords } from './tool-fields.ts'
import { parseTraceIds } from './trace-ids.ts'

export interface ExecutionLogOptions {
  log: Log
  words: ToolWords
}

export function createExecutionLog({ log, words }: ExecutionLogOptions): Required<Pick<Observer, 'executed'>> {
  return {
    executed(operation, execution) {
      const { entry, outcome } = execution
      const { tenant, owner, fingerprint, verdict, rule, approvalId, backend, startedAt, endedAt } = entry
      log.info(
        {
          operation: operation.key,
          tool_contract_version: words.version,
          tool_request_id: entry.requestId,
          // What a remote tool is sent as the id of its request.
          execution_id: entry.id,
          started_at: new Date(startedAt).toISOString(),
          ended_at: new Date(endedAt).toISOString(),
          duration_ms: Math.max(0, endedAt - startedAt),
          tool_attempt: entry.attempts,
          ...outcomeFields(words, outcome),
          ...(outcome.kind === 'fault' && { failure: words.line(outcome.fault) }),
          ...traceFields(execution),
          ...authFields(operation),
          tenant,
          owner,
          fingerprint,
          verdict,
          ...(rule !== undefined && { rule }),
          ...(approvalId !== undefined && { approval_id: approvalId }),
          backend,
        },
        'executed',
      )
    },
  }
}

/** A call that came without a trace is the root of its own: its id has as many digits as a trace's. */
function traceFields({ entry, traceparent }: Execution) {
  const sent = parseTraceIds(traceparent)
  const digits = entry.id.replaceAll('-', '')
  return { trace_id: sent?.traceId ?? digits, span_id: sent?.spanId ?? digits.slice(-16) }
}
