/** Reads the frames of a handler, validates them and passes them to the subscription. */

import { joinBytes } from '../../core/bytes.ts'
import type { Outcome } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Subscription } from './subscription.ts'

type Source = AsyncIterator<unknown> | Iterator<unknown>

export async function pumpFrames(attempt: Attempt, returning: unknown, to: Subscription | undefined): Promise<Outcome> {
  if (!to) throw new Fault('internal', 'A stream was started without a subscription. Please report this as a bug.')
  const source = iteratorOf(await returning)
  const check = frameCheck(attempt)
  let done = false
  try {
    while (!attempt.stoppedBy) {
      const step = source.next()
      const { done: ended, value } = step instanceof Promise ? await step : await Promise.resolve(step)
      if (ended) {
        done = true
        break
      }
      if (attempt.stoppedBy) break
      const checked = check(value)
      const full = to.push(checked instanceof Promise ? await checked : checked)
      if (full) await full
    }
  } finally {
    // Runs the handler's `finally` blocks. A handler that never returns from them is counted as running.
    if (!done) await source.return?.()
  }
  return attempt.stoppedBy ? to.outcomeOf(attempt.stoppedBy) : to.summary
}

function iteratorOf(returned: unknown): Source {
  const source = returned as Partial<AsyncIterable<unknown> & Iterable<unknown>> | undefined
  const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.()
  if (iterator && typeof source !== 'string') return iterator
  throw new Fault('internal', 'The handler of a stream must be a generator, or return an iterable of frames.', {
    code: 'UNUSABLE_RESULT',
  })
}

/** Bytes have no schema. Secrets that the handler has received are removed from every frame. */
function frameCheck(attempt: Attempt): (frame: unknown) => unknown {
  const { stream } = attempt.job.operation
  const parse = stream?.parseFrame
  const checked =
    parse && !stream.track ? (frame: unknown) => (frame instanceof Uint8Array ? frame : parse(frame)) : asIs
  return (frame) => {
    const parsed = checked(frame)
    if (!attempt.conceals) return parsed
    if (parsed instanceof Uint8Array) return cleanedBytes(attempt, parsed)
    if (parsed instanceof Promise) return parsed.then((value) => attempt.cleaned(value as JsonValue))
    return attempt.cleaned(parsed as JsonValue)
  }
}

function cleanedBytes(attempt: Attempt, bytes: Uint8Array): Uint8Array {
  const cleaning = attempt.cleaningBytes()
  return joinBytes([cleaning.push(bytes), cleaning.end()])
}

function asIs(frame: unknown): unknown {
  return frame
}
