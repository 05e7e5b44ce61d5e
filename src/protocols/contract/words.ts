/** Words for failures in logs, spans and metrics. All protocols use the Contract's words. */
import { Fault, type FaultKind, type FaultRecord } from '../../core/fault.ts'
import { encodeFault } from './codec.ts'
import { CODES, codeOf } from './faults.ts'
import { failureLine } from './metadata.ts'
import { CONTRACT_VERSION } from './wire.ts'

/** The log line contains none of these fields. */
const ANSWERED = { requestId: '', trace: { trace_id: '', span_id: '' }, elapsedMs: 0 }

export const contractWords = {
  version: CONTRACT_VERSION,
  describe(kind: FaultKind) {
    const code = codeOf(kind)
    const { reason, status } = CODES[code]
    return { status, code, reason }
  },
  line: (fault: FaultRecord) => failureLine(encodeFault(Fault.fromRecord(withoutQuestions(fault)), ANSWERED)),
}

/** A handler's questions to its caller are private to the two, so the log must not contain them. */
function withoutQuestions(fault: FaultRecord): FaultRecord {
  if (fault.details?.questions === undefined) return fault
  const { questions: _between, ...details } = fault.details
  return { ...fault, details }
}

/** Metric label: `ok`, or the Contract's code for this kind of failure. */
export function contractCode(outcome: string): string {
  return outcome === 'complete' ? 'ok' : codeOf(outcome as FaultKind)
}
