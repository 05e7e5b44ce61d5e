/** The stored state of a call whose tool has not finished: enough to continue it in another process. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'

export interface Waiting {
  /** `submitting`: it is unknown whether the tool received the call. */
  phase: 'submitting' | 'polling'
  /** The current poll delay. */
  pollMs: number
}

export function encodeWaiting({ phase, pollMs }: Waiting): JsonObject {
  return { phase, pollMs }
}

export function decodeWaiting(stored: JsonValue, pollMs: number): Waiting {
  const given: JsonObject = isJsonObject(stored) ? stored : {}
  return {
    phase: given.phase === 'polling' ? 'polling' : 'submitting',
    pollMs: typeof given.pollMs === 'number' ? given.pollMs : pollMs,
  }
}
