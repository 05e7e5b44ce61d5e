/**
 * Reads messages of clients that are not authenticated yet: the credential is in the headers and is checked after the
 * message arrives. Until then, the time for one message and the bytes per connection and in total are limited.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { Fault } from '../../core/fault.ts'
import { createFrameReader } from '../../wire/grpc/framing.ts'
import { bodyBrokeOff, bodyTooLarge } from '../../wire/http/body-faults.ts'

export interface ReadingLimits {
  /** Time limit for one message, from the headers to the last byte. */
  readMs: number
  /** Maximum size of the messages that are being read. */
  sessionBytes: number
  totalBytes: number
}

/** Reads the message of a stream. Also settles when the stream ends. */
export type ReadMessage = (stream: ServerHttp2Stream, maxBytes: number) => Promise<string>

export function createReading({ sessionBytes, totalBytes }: ReadingLimits): ReadMessage {
  const bySession = new WeakMap<object, number>()
  let total = 0

  const hold = (session: object, bytes: number) => {
    bySession.set(session, (bySession.get(session) ?? 0) + bytes)
    total += bytes
  }

  return async (stream, maxBytes) => {
    const reader = createFrameReader(maxBytes, () => bodyTooLarge(maxBytes))
    // Stored, because a closed stream does not name its session.
    const session: object = stream.session ?? stream
    let held = 0
    try {
      for await (const bytes of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
        held += bytes.length
        hold(session, bytes.length)
        if (total > totalBytes || (bySession.get(session) ?? 0) > sessionBytes) throw tooMuch()
        reader.push(bytes)
      }
      const text = reader.finish()
      if (text === undefined) throw bodyBrokeOff()
      return text
    } finally {
      hold(session, -held)
    }
  }
}

export function tooSlow(readMs: number): Fault {
  return new Fault('timeout', `The message did not arrive within ${readMs} ms. Send the whole message sooner.`, {
    details: { timeout_ms: readMs },
  })
}

function tooMuch(): Fault {
  return new Fault(
    'overloaded',
    'Too many messages are being received. Send fewer at a time, or try again in a moment.',
    {
      retryAfterMs: 1_000,
    },
  )
}
