/** The routes about a call that was made: poll, cancel, chunks and events; and the objects of results. */

import type { Caller } from '../../../core/call/caller.ts'
import { bareType } from '../../../core/call/media.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import type { OpenStream } from '../../../core/ports/frames.ts'
import { explain } from '../../../wire/explain.ts'
import { RECORDS_TYPE } from '../../../wire/frames/records.ts'
import { EVENT_STREAM_HEADERS } from '../../../wire/http/event-stream.ts'
import { type AddressSettings, isSigned, objectIdIn, replyEnvelope } from '../addresses.ts'
import { decodeCursor, encodeChunk } from '../codec.ts'
import { connectReader } from '../stream-reader.ts'
import { jsonAnswer, pollAnswer, redirectAnswer, refusalAnswer } from './answers.ts'
import { binaryChunk, jsonChunk } from './chunk-answers.ts'
import { EventStreams, withEnd } from './event-streams.ts'
import { encodeEvents } from './events.ts'
import { FrameBody, type FrameFormat } from './frame-body.ts'
import { frameEvents } from './frame-events.ts'
import { frameRecords } from './frame-records.ts'
import { objectAnswer } from './object-answers.ts'
import type { OpenCallParts } from './parts.ts'
import { preferredWaitMs } from './prefer.ts'

export class FollowRoutes {
  readonly #parts: OpenCallParts
  readonly #addresses: AddressSettings
  readonly #streams: EventStreams

  constructor(parts: OpenCallParts) {
    this.#parts = parts
    this.#addresses = { env: parts.env, signLinks: parts.settings.signLinks }
    this.#streams = new EventStreams(parts.settings.eventStreamsPerCaller)
  }

  poll(exchange: Exchange, requestId: string): Promise<Answer> {
    return this.#forOwner(exchange, requestId, async (caller) => {
      const waitMs = Math.min(preferredWaitMs(exchange), this.#parts.settings.maxWaitMs)
      return pollAnswer(
        await this.#parts.calls.poll(caller, requestId, { waitMs, client: exchange }),
        exchange,
        this.#addresses,
      )
    })
  }

  cancel(exchange: Exchange, requestId: string): Promise<Answer> {
    return this.#forOwner(exchange, requestId, async (caller) =>
      pollAnswer(await this.#parts.calls.cancel(caller, requestId), exchange, this.#addresses),
    )
  }

  chunk(exchange: Exchange, requestId: string): Promise<Answer> {
    return this.#forOwner(exchange, requestId, async (caller) => {
      const cursor = new URLSearchParams(exchange.query).get('cursor') ?? undefined
      const reply = await this.#parts.calls.chunk(caller, requestId, () => decodeCursor(cursor))
      const envelope = encodeChunk(reply, decodeCursor(cursor))
      if (!reply.chunk) return jsonAnswer(200, envelope)
      if (bareType(exchange.header('accept') ?? '') === 'application/octet-stream')
        return binaryChunk(envelope, reply.chunk.bytes)
      return jsonChunk(envelope, reply.chunk.bytes, this.#parts.env.base64)
    })
  }

  events(exchange: Exchange, requestId: string): Promise<Answer> {
    return this.#forOwner(exchange, requestId, async (caller) => {
      const { calls, env } = this.#parts
      const leave = this.#streams.enter(caller)
      const replies = calls.watch(caller, requestId, exchange.signal)[Symbol.asyncIterator]()
      try {
        // Reads the first reply before the response starts, so that an unknown call is still a refusal.
        const first = await replies.next()
        const encode = (reply: Reply) => replyEnvelope(reply, exchange)
        return {
          status: 200,
          headers: EVENT_STREAM_HEADERS,
          body: withEnd(encodeEvents(first, replies, encode, env.clock), () => {
            leave()
            void replies.return?.()
          }),
        }
      } catch (thrown) {
        leave()
        throw thrown
      }
    })
  }

  /** The frames of a stream as server-sent events, or as records. */
  stream(exchange: Exchange, id: string): Promise<Answer> {
    const { env } = this.#parts
    return this.#answering(env.newId(), async () => {
      const accepted = exchange.header('accept') ?? ''
      const asEvents = /\btext\/event-stream\b/i.test(accepted)
      if (!asEvents && !accepted.toLowerCase().includes(RECORDS_TYPE)) throw needsTransport()
      const opened = Promise.withResolvers<FrameBody<Uint8Array | string>>()
      const open = (stream: OpenStream) => {
        const format = asEvents ? frameEvents(stream, env.base64) : frameRecords(stream)
        const body = new FrameBody(format as FrameFormat<Uint8Array | string>, exchange.signal)
        opened.resolve(body)
        return body
      }
      await connectReader(this.#parts, exchange, id, open)
      const headers = asEvents ? EVENT_STREAM_HEADERS : RECORD_HEADERS
      return { status: 200, headers, body: (await opened.promise).read(env.clock) }
    })
  }

  object(exchange: Exchange, segment: string): Promise<Answer> {
    const { calls, identify, env } = this.#parts
    return this.#answering(env.newId(), async () => {
      const objectId = objectIdIn(segment)
      const { info, read, link } = isSigned(exchange.path, exchange.query, env)
        ? await calls.linkedObject(objectId)
        : await calls.object(await identify(exchange)(), objectId)
      if (link !== undefined && exchange.method === 'GET') return redirectAnswer(env.newId(), link)
      return objectAnswer(exchange, info, read, env.newId)
    })
  }

  /** A refusal about a call that the caller owns (for example, a call without chunks) contains its session id. */
  #forOwner(
    exchange: Exchange,
    requestId: string,
    act: (caller: Caller | undefined) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#answering(requestId, async () => {
      const caller = await this.#parts.identify(exchange)()
      try {
        return await act(caller)
      } catch (thrown) {
        const known = await this.#parts.calls.known(caller, requestId)
        return refusalAnswer(this.#explain(thrown), requestId, known?.sessionId)
      }
    })
  }

  async #answering(requestId: string, act: () => Promise<Answer>): Promise<Answer> {
    try {
      return await act()
    } catch (thrown) {
      return refusalAnswer(this.#explain(thrown), requestId)
    }
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log)
  }
}

const RECORD_HEADERS = { 'Content-Type': RECORDS_TYPE, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }

function needsTransport(): Fault {
  const message = 'Read this stream over its transport, or send "Accept: text/event-stream" to get server-sent events.'
  return new Fault('malformed', message, { code: 'STREAM_TRANSPORT_REQUIRED' })
}
