/**
 * Frames of streams as messages on a topic: one topic for all streams, with the request id as key, or one for each
 * operation. Topics are never made for a single stream: creating one takes longer than most streams, and a broker keeps
 * files open for each.
 */
import { Fault } from '../../core/fault.ts'
import type { FrameBytes } from '../../core/operation/stream.ts'
import type { FrameChannel, NewStream, StreamTransport } from '../../core/ports/frames.ts'
import { OnTheirWay } from '../../wire/messages/on-their-way.ts'
import { aborted, type Fate } from './outbox.ts'
import type { Publishing } from './publishing.ts'
import type { KafkaSettings } from './settings.ts'
import type { Topics } from './topics.ts'

/** The most frames of one turn of the event loop. */
const FRAMES_PER_TURN = 64

export interface FrameParts {
  settings: KafkaSettings
  topics: Topics
  publishing: Publishing
  /** Aborts when the carrier closes. */
  signal: AbortSignal
  framed(): void
}

export function createFrameTransport(parts: () => FrameParts): StreamTransport {
  return {
    name: 'kafka',
    async place(stream) {
      const { settings, topics } = parts()
      const topic = settings.frameTopic(stream.operation)
      // The shared topic was checked at the start.
      if (topic !== settings.topics.frames) await topics.require(topic)
      return {
        location: `kafka://${settings.brokers[0]}/${topic}`,
        details: { topic, key: stream.requestId, streamId: stream.id },
        open: () => openChannel(parts(), topic, stream),
      }
    },
  }
}

function openChannel(parts: FrameParts, topic: string, { id, requestId }: NewStream): FrameChannel {
  const { settings, publishing, signal: closing, framed } = parts
  const leaving = new AbortController()
  const { signal } = leaving
  const leave = () => leaving.abort()
  closing.addEventListener('abort', leave, { once: true })
  if (closing.aborted) leave()
  const onTheirWay = new OnTheirWay()
  const settled = (fate: Fate) => {
    // No other reader could get the frame from these brokers.
    if (fate === 'too-large' || fate === 'refused') {
      closing.removeEventListener('abort', leave)
      leaving.abort(notSent(fate, topic))
    }
    onTheirWay.settled(fate !== 'unknown')
  }
  const flushed = (): void | Promise<void> => {
    const flushing = onTheirWay.flushed()
    if (flushing instanceof Promise) return Promise.race([flushing.then(() => undefined), aborted(signal)])
  }
  const key = Buffer.from(requestId)
  const headers = new Map([[Buffer.from(settings.headers.stream), Buffer.from(id)]])
  let inTurn = 0
  let turn: Promise<void> | undefined
  const nextTurn = () =>
    new Promise<void>((resolve) => {
      setImmediate(() => {
        inTurn = 0
        turn = undefined
        resolve()
      })
    })
  return {
    signal,
    send(frame) {
      if (signal.aborted) return undefined
      framed()
      onTheirWay.sent()
      const full = publishing.add({ topic, key, value: bytesOf(frame), headers, settled })
      turn ??= nextTurn()
      if (full) return full
      return ++inTurn < FRAMES_PER_TURN ? undefined : turn
    },
    flushed,
    // The reader learns of the end from the reply.
    end: () => {
      closing.removeEventListener('abort', leave)
      return flushed()
    },
  }
}

function notSent(fate: 'too-large' | 'refused', topic: string): Fault {
  const isTooLarge = fate === 'too-large'
  const why = isTooLarge ? 'A frame is larger than Kafka allows' : `Kafka refused a frame for the topic "${topic}"`
  const code = isTooLarge ? 'FRAME_TOO_LARGE' : 'FRAME_REFUSED'
  return new Fault('unavailable', `${why}. Read the stream over another transport.`, { code, retryable: false })
}

function bytesOf(frame: FrameBytes): Buffer {
  return typeof frame === 'string' ? Buffer.from(frame) : Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
}
