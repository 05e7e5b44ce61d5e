/** How logs, spans and metrics word a failure, whatever protocol its call came by: as the Contract does. */
import { Fault, type FaultKind, type FaultRecord } from '../../core/fault.ts'
import { encodeFault } from './codec.ts'
import { CODES, codeOf } from './faults.ts'
import { failureLine } from './metadata.ts'
import { CONTRACT_VERSION } from './wire.ts'

/** The line has nothing of these. */
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

/** What a handler asks its caller is between the two. */
function withoutQuestions(fault: FaultRecord): FaultRecord {
  if (fault.details?.questions === undefined) return fault
  const { questions: _between, ...details } = fault.details
  return { ...fault, details }
}

/** For counting: `ok`, or the Contract's code for this kind of failure. */
export function contractCode(outcome: string): string {
  return outcome === 'complete' ? 'ok' : codeOf(outcome as FaultKind)
}
