/** What is kept of a call whose tool has not answered yet: enough to go on with it in another process. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

export interface Waiting {
  /** `submitting`: it is not known whether the tool has the call. */
  phase: 'submitting' | 'polling'
  /** When the time of this try is over. */
  deadlineAt?: number
  /** The pace that has been reached. */
  pollMs: number
}

export function encodeWaiting({ phase, deadlineAt, pollMs }: Waiting): JsonObject {
  return { phase, pollMs, ...(deadlineAt !== undefined && { deadlineAt }) }
}

export function decodeWaiting(stored: JsonValue, pollMs: number): Waiting {
  const given: JsonObject = isJsonObject(stored) ? stored : {}
  return {
    phase: given.phase === 'polling' ? 'polling' : 'submitting',
    pollMs: typeof given.pollMs === 'number' ? given.pollMs : pollMs,
    ...(typeof given.deadlineAt === 'number' && { deadlineAt: given.deadlineAt }),
  }
}
