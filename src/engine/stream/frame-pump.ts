/** Reads the frames of a handler, validates them and passes them to the subscription. */

import { joinBytes } from '../../core/bytes.ts'
import type { Outcome } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Subscription } from './subscription.ts'

type Source = AsyncIterator<unknown> | Iterator<unknown>

/** After this many frames the process does other work, even if neither the handler nor the reader ever waits. */
const FRAMES_PER_TURN = 64

export async function pumpFrames(
  attempt: Attempt,
  returning: unknown,
  to: Subscription | undefined,
  env: Environment,
): Promise<Outcome> {
  if (!to) throw new Fault('internal', 'A stream was started without a subscription. Please report this as a bug.')
  const source = iteratorOf(await returning)
  const check = frameCheck(attempt)
  let frames = 0
  while (!attempt.stoppedBy) {
    const step = source.next()
    const { done, value } = isThenable(step) ? await step : step
    if (done) {
      await to.flush()
      return attempt.stoppedBy ? to.outcomeOf(attempt.stoppedBy) : to.summary
    }
    if (attempt.stoppedBy) break
    try {
      const checked = check(isThenable(value) ? await value : value)
      const full = to.push(isThenable(checked) ? await checked : checked)
      // The channel counts frames in the same way, so that both usually wait for the same turn.
      const turn = ++frames % FRAMES_PER_TURN === 0 ? env.nextTurn() : undefined
      if (full) await full
      if (turn) await turn
    } catch (thrown) {
      refuse(attempt, thrown, env)
    }
  }
  // Runs the handler's `finally` blocks. A handler that never returns from them is counted as running.
  await source.return?.()
  return to.outcomeOf(attempt.stoppedBy as Fault)
}

/** The stream ends now, even if the handler does not. */
function refuse(attempt: Attempt, thrown: unknown, { log }: Environment): void {
  const { operation, requestId } = attempt.job
  const fault = Fault.from(thrown)
  log.error({ operation: operation.key, requestId, err: fault.cause ?? fault }, 'a frame cannot be sent')
  attempt.stop(fault)
}

function iteratorOf(returned: unknown): Source {
  const source = returned as Partial<AsyncIterable<unknown> & Iterable<unknown>> | undefined | null
  const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.()
  if (iterator && typeof source !== 'string' && !(source instanceof Uint8Array)) return iterator
  throw new Fault('internal', 'The handler of a stream must be a generator, or return an iterable of frames.', {
    code: 'UNUSABLE_RESULT',
  })
}

/** Secrets that the handler has received are removed from every frame. */
function frameCheck(attempt: Attempt): (frame: unknown) => unknown {
  const { stream } = attempt.job.operation
  const parse = stream?.parseFrame
  // Bytes have no schema, and no encoding but `binary` accepts them.
  const checked =
    parse && !stream.track ? (frame: unknown) => (frame instanceof Uint8Array ? frame : parse(frame)) : asIs
  return (frame) => {
    if (!attempt.conceals) return checked(frame)
    if (frame instanceof Uint8Array) return cleanedBytes(attempt, frame)
    return cleanedFrame(attempt, frame, checked)
  }
}

/** A schema's message may truncate a value, and a truncated secret would not be found. So it is redacted first. */
async function cleanedFrame(attempt: Attempt, frame: unknown, parse: (frame: unknown) => unknown): Promise<unknown> {
  let parsed: unknown
  try {
    parsed = await parse(frame)
  } catch {
    await parse(attempt.cleaned(frame as JsonValue))
    throw new Fault('internal', 'A frame does not match the schema of the operation.', { code: 'INVALID_FRAME' })
  }
  return attempt.cleaned(parsed as JsonValue)
}

function cleanedBytes(attempt: Attempt, bytes: Uint8Array): Uint8Array {
  const cleaning = attempt.cleaningBytes()
  return joinBytes([cleaning.push(bytes), cleaning.end()])
}

function asIs(frame: unknown): unknown {
  return frame
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
