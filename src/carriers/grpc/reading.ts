/**
 * Reads messages of clients that nobody knows yet: who they are is in the headers, and it is asked when the message is
 * there. Until then one message may take so long, and the messages of one connection and of all hold so many bytes.
 */
import type { ServerHttp2Stream } from 'node:http2'
import { Fault } from '../../core/fault.ts'
import { createFrameReader } from '../../wire/grpc/framing.ts'
import { bodyBrokeOff, bodyTooLarge } from '../../wire/http/body-faults.ts'

export interface ReadingLimits {
  /** Of one message, from the first header to the last byte. */
  readMs: number
  /** Of messages under way. */
  sessionBytes: number
  totalBytes: number
}

/** The message of a stream; settles when the stream ends, too. */
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
    // Kept: a stream that has ended does not say which connection it was on.
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
  return new Fault('timeout', `The message did not arrive within ${readMs} ms. Send it whole, and sooner.`, {
    details: { timeout_ms: readMs },
  })
}

function tooMuch(): Fault {
  return new Fault('overloaded', 'Too many messages are under way. Send fewer at a time, or try again in a moment.', {
    retryAfterMs: 1_000,
  })
}
