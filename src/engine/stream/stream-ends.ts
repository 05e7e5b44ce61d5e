/** How streams end. */
import type { Instance, Outcome } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { StreamSummary } from '../../core/operation/stream.ts'
import { faultOutcome } from '../end/end-faults.ts'

/** A stream ends this long after its reader has gone. */
export const READER_GONE_MS = 60_000

/** What a stream has sent so far. */
export interface Sent extends Omit<StreamSummary, 'ended'> {
  /** The last frames, if the channel keeps them for the result. */
  last?: readonly JsonValue[]
}

const NOTHING_SENT: Sent = { frames: 0, dropped: 0 }

const EXPIRED = 'STREAM_EXPIRED'
/** Reasons of the server, not of the stream. The reader sees one code for all of them. */
const INTERRUPTIONS: readonly string[] = ['SHUTTING_DOWN', 'LEASE_LOST', 'OUTCOME_UNKNOWN', 'CUT_OFF']

/** Stops a stream at its end. The stream is then complete. */
export function streamExpired(): Fault {
  return new Fault('timeout', 'The stream has reached its end. Subscribe again to go on.', { code: EXPIRED })
}

export function readerGone(): Fault {
  const message = `The stream had no reader for ${READER_GONE_MS / 1000} seconds. Subscribe again.`
  return new Fault('unavailable', message, { code: 'READER_GONE' })
}

export function slowReader(): Fault {
  return new Fault('overloaded', 'The reader was too slow for this stream. Subscribe again, and read faster.', {
    code: 'SLOW_READER',
  })
}

function interrupted(): Fault {
  return new Fault('unavailable', 'The server that ran the stream stopped. Subscribe again.', {
    code: 'STREAM_INTERRUPTED',
  })
}

export function summaryOf(ended: StreamSummary['ended'], sent: Sent = NOTHING_SENT): Outcome {
  const { last, ...counts } = sent
  return { kind: 'result', value: { ...counts, ended, ...(last && { last: [...last] }) } }
}

/** The outcome of a stream that is stopped for this reason: complete if it was unsubscribed or has reached its end. */
export function stoppedStream(why: Fault, sent?: Sent): Outcome {
  if (why.kind === 'canceled') return summaryOf('unsubscribed', sent)
  if (why.code === EXPIRED) return summaryOf('expired', sent)
  return faultOutcome(INTERRUPTIONS.includes(why.code) ? interrupted() : why)
}

/** When the ticket of a stream without a reader expires. */
export function readerDueAt({ createdAt }: Instance): number {
  return createdAt + READER_GONE_MS
}

/** True if a reader may still come with its ticket. A server that starts claims such a stream before its time. */
export function awaitsReader(instance: Instance, now: number): boolean {
  return instance.extras?.stream?.awaited === true && now < readerDueAt(instance)
}

/** The outcome of a call that is stopped while no handler of it runs. */
export function stoppedUnrun({ model, extras }: Instance, why: Fault): Outcome {
  if (model !== 'stream') return faultOutcome(why)
  const lost = why.kind !== 'canceled' && extras?.stream?.awaited
  return stoppedStream(lost ? readerGone() : why)
}
