/** Runs a stream in a unit test: its frames are collected as values, after validation and without an encoding. */
import type { Instance } from '../../core/call/instance.ts'
import type { OperationDefinition, PreparedSchemas } from '../../core/operation/operation.ts'
import type { StreamRules } from '../../core/operation/stream.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Attempt } from '../../engine/attempt/attempt.ts'
import { canceled } from '../../engine/end/end-faults.ts'
import { DEFAULT_LIMITS } from '../../engine/limits/limit-rules.ts'
import { StreamLimits } from '../../engine/limits/stream-limits.ts'
import { Subscriptions } from '../../engine/stream/subscriptions.ts'

export function createRunStreams(clock: Clock): Subscriptions {
  return new Subscriptions(clock, new StreamLimits(DEFAULT_LIMITS, clock))
}

/** The rules of the stream. Every frame is added to `frames`. `undefined` if the operation is not a stream. */
export function collectingRules<App>(
  { name, stream = {} }: OperationDefinition<App>,
  { frame }: PreparedSchemas,
  frames: unknown[],
): StreamRules | undefined {
  if (!frame) return undefined
  const { encodings = ['json'], trusted = false, track } = stream
  return {
    encodings,
    integrity: false,
    // The reader of a test is never slow.
    overflow: 'wait',
    schemaName: `${name}#frame`,
    schema: frame.schema,
    ...(!trusted && { parseFrame: frame.parse }),
    ...(track && { track }),
    writer: () => ({
      encode(value) {
        frames.push(value)
        return ''
      },
    }),
  }
}

/** Starts the attempt with a reader that takes every frame, and unsubscribes after `most` frames. */
export function startStream(streams: Subscriptions, attempt: Attempt, args: unknown, most: number, clock: Clock): void {
  const { id, operation } = attempt.job
  const endsAt = clock.now() + operation.ttlSeconds * 1000
  const instance = {
    id,
    tenant: '',
    owner: '',
    extras: { stream: { encoding: 'json', endsAt } },
  } as unknown as Instance
  const worker = {
    start: () => void attempt.start(args),
    stopAttempt(_id: string, why: Parameters<Attempt['stop']>[0]) {
      attempt.stop(why)
      return true
    },
  }
  let taken = 0
  const take = () => {
    if (++taken >= most) attempt.stop(canceled())
  }
  const { signal } = new AbortController()
  streams.start(worker, instance, operation, (subscription) => {
    subscription.attach({ signal, send: take, sendTrack: take, end: () => {} })
  })
}
