/** `meta` of a response: sent to callers that use a form of the later revision. docs/readings.md#r40. */

import type { Clock } from '../../core/ports/runtime.ts'
import type { Meta, RequestEnvelope } from './wire.ts'

/** What the first response to a call says besides the reply. */
export interface Told {
  op: string
  /** Absent if the caller gets no `meta`. */
  meta: (() => Meta) | undefined
}

/** Call it when the envelope is read. `undefined` if the caller gets no `meta`; the returned function makes it. */
export function startMeta(
  { op, isLater }: RequestEnvelope,
  clock: Pick<Clock, 'monotonicMs'>,
): (() => Meta) | undefined {
  if (!isLater) return undefined
  const begun = clock.monotonicMs()
  return () => ({ op, durationMs: clock.monotonicMs() - begun })
}
