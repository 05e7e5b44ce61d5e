/** HTTP routes of OpenCALL. */

import type { MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { bareType } from '../../core/call/media.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Catalog } from '../../core/ports/catalog.ts'
import type { Answer, Exchange, Refusal, Route } from '../../core/ports/exchange.ts'
import type { Identify, Presented } from '../../core/ports/guard.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { explain } from '../../wire/explain.ts'
import { EVENT_STREAM_HEADERS } from '../../wire/http/event-stream.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import {
  type AddressSettings,
  callAnswer,
  isSigned,
  jsonAnswer,
  objectIdIn,
  pollAnswer,
  refusalAnswer,
  replyEnvelope,
} from './answers.ts'
import { binaryChunk, jsonChunk } from './chunk-answers.ts'
import { decodeCall, decodeCursor, encodeChunk } from './codec.ts'
import { parseEnvelope, requestIdIn, sessionIdIn } from './envelope.ts'
import { EventStreams, withEnd } from './event-streams.ts'
import { encodeEvents } from './events.ts'
import { namingRemoved } from './faults.ts'
import { objectAnswer } from './object-answers.ts'
import { createRegistryDocument } from './registry-document.ts'
import { receiveMultipart, referencedMedia, type UploadParts } from './uploads.ts'
import type { RequestEnvelope } from './wire.ts'

export interface OpenCallSettings {
  /** True to follow the specification literally, without the lenient readings. */
  strict: boolean
  maxEnvelopeBytes: number
  maxUploadBytes: number
  /** The longest a caller may wait with `Prefer: wait`. */
  maxWaitMs: number
  signLinks: boolean
  /** True to list removed operations in the registry. */
  listRemoved: boolean
  eventStreamsPerCaller: number
}

export interface OpenCallParts {
  calls: Calls
  catalog: Catalog
  objects: ObjectStore
  env: Environment
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
  settings: OpenCallSettings
}

export function createOpenCallRoutes(parts: OpenCallParts): Route[] {
  const { catalog, env } = parts
  const ops = new OpenCall(parts)
  const refuse = (_exchange: Exchange, why: Refusal) => refusal(why, env.newId())
  return [
    {
      path: '/call',
      refuse: (_exchange, why) => refusal(why, env.newId(), CALL_ADVICE),
      methods: { POST: (exchange) => ops.call(exchange) },
    },
    {
      path: '/ops/{id}',
      refuse,
      methods: {
        GET: (exchange, { id }) => ops.poll(exchange, id ?? ''),
        DELETE: (exchange, { id }) => ops.cancel(exchange, id ?? ''),
      },
    },
    { path: '/ops/{id}/chunks', refuse, methods: { GET: (exchange, { id }) => ops.chunk(exchange, id ?? '') } },
    { path: '/ops/{id}/events', refuse, methods: { GET: (exchange, { id }) => ops.events(exchange, id ?? '') } },
    { path: '/objects/{id}', refuse, methods: { GET: (exchange, { id }) => ops.object(exchange, id ?? '') } },
    {
      path: '/.well-known/ops',
      refuse,
      methods: { GET: createRegistryDocument(catalog, env, parts.identify, parts.settings.listRemoved) },
    },
  ]
}

const CALL_ADVICE = 'Send POST /call to invoke an operation; GET /.well-known/ops lists the operations.'

/** Response to a request that did not reach a route's handler. */
export function refusal(why: Refusal, requestId: string, advice = ''): Answer {
  switch (why.kind) {
    case 'fault':
      return refusalAnswer(why.fault, requestId)
    case 'path':
      return refusalAnswer(new Fault('not-found', `There is nothing at this path. ${CALL_ADVICE}`), requestId)
    case 'method': {
      const allow = why.allow.join(', ')
      const message = advice || `This path accepts only ${allow}.`
      const error = { code: 'METHOD_NOT_ALLOWED', message, cause: { allow: [...why.allow] } }
      return jsonAnswer(405, { requestId, state: 'error', error }, { Allow: allow })
    }
  }
}

function presentedBy(exchange: Exchange, envelope: RequestEnvelope | undefined): Presented {
  const auth = envelope?.auth
  return auth ? { header: (name) => exchange.header(name), auth } : exchange
}

class OpenCall {
  readonly #parts: OpenCallParts
  readonly #uploads: UploadParts
  readonly #addresses: AddressSettings
  readonly #streams: EventStreams

  constructor(parts: OpenCallParts) {
    const { calls, objects, env, settings } = parts
    this.#parts = parts
    this.#uploads = {
      calls,
      objects,
      maxEnvelopeBytes: settings.maxEnvelopeBytes,
      maxUploadBytes: settings.maxUploadBytes,
    }
    this.#addresses = { env, signLinks: settings.signLinks }
    this.#streams = new EventStreams(settings.eventStreamsPerCaller)
  }

  /** Creates a promise only if the body is not complete yet or the call does not end synchronously. */
  call(exchange: Exchange): Answer | Promise<Answer> {
    try {
      const type = bareType(exchange.header('content-type') ?? '')
      if (type === 'multipart/form-data') return this.#callWithParts(exchange)
      if (type !== 'application/json') throw wrongType(type)
      const text = exchange.text(this.#parts.settings.maxEnvelopeBytes)
      return text instanceof Promise ? this.#callWhenRead(text, exchange) : this.#callWith(text, exchange)
    } catch (thrown) {
      return this.#refuse(thrown, null)
    }
  }

  async #callWhenRead(text: Promise<string>, exchange: Exchange): Promise<Answer> {
    let read: string
    try {
      read = await text
    } catch (thrown) {
      return this.#refuse(thrown, null)
    }
    return this.#callWith(read, exchange)
  }

  #callWith(text: string, exchange: Exchange): Answer | Promise<Answer> {
    let sent: JsonValue = null
    try {
      sent = parseJsonText(text)
      const envelope = parseEnvelope(sent, this.#parts.settings.strict)
      const identify = this.#parts.identify(presentedBy(exchange, envelope))
      const answering = this.#invoke(exchange, envelope, referencedMedia(envelope.media), identify)
      if (!(answering instanceof Promise)) return answering
      return answering.catch((thrown) => this.#refuse(thrown, sent))
    } catch (thrown) {
      return this.#refuse(thrown, sent)
    }
  }

  async #callWithParts(exchange: Exchange): Promise<Answer> {
    let sent: JsonValue = null
    let known: RequestEnvelope | undefined
    const parse = (value: JsonValue) => {
      sent = value
      known = parseEnvelope(value, this.#parts.settings.strict)
      return known
    }
    // Parts may arrive before the envelope. The caller is then identified without the envelope's `auth`.
    const identify = () => this.#parts.identify(presentedBy(exchange, known))()
    try {
      return await this.#callWithUploads(exchange, identify, parse)
    } catch (thrown) {
      return this.#refuse(thrown, sent)
    }
  }

  #refuse(thrown: unknown, sent: JsonValue): Answer {
    return refusalAnswer(this.#explain(thrown), requestIdIn(sent) ?? this.#parts.env.newId(), sessionIdIn(sent))
  }

  async #callWithUploads(
    exchange: Exchange,
    identify: Identify,
    parse: (value: JsonValue) => RequestEnvelope,
  ): Promise<Answer> {
    const { calls, objects } = this.#parts
    const uploads = await calls.newCallId(identify)
    let received: Awaited<ReturnType<typeof receiveMultipart>>
    try {
      received = await receiveMultipart(exchange, uploads, identify, parse, this.#uploads)
    } catch (thrown) {
      await objects.removeOwner(uploads)
      throw thrown
    }
    return this.#invoke(exchange, received.envelope, received.media, identify, uploads)
  }

  #invoke(
    exchange: Exchange,
    envelope: RequestEnvelope,
    media: MediaInput[],
    identify: Identify,
    uploads?: string,
  ): Answer | Promise<Answer> {
    const { calls, env, settings } = this.#parts
    const requestId = envelope.ctx.requestId ?? env.newId()
    const call = decodeCall(envelope, requestId, media, exchange.header('traceparent'))
    if (uploads !== undefined) call.uploads = uploads
    const replying = calls.call(call, identify, {
      client: exchange,
      holdMs: Math.min(preferredWaitMs(exchange), settings.maxWaitMs),
      hold: true,
    })
    if (replying instanceof Promise) return replying.then((reply) => this.#answer(reply, exchange, envelope.op))
    return this.#answer(replying, exchange, envelope.op)
  }

  #answer(reply: Reply, exchange: Exchange, op: string): Answer {
    if (reply.state === 'complete') return callAnswer(reply, exchange, this.#addresses)
    if (reply.state !== 'error') return pollAnswer(reply, exchange, this.#addresses)
    const { fault } = reply
    const told = fault.kind === 'removed' ? { ...reply, fault: namingRemoved(fault, op) } : reply
    return callAnswer(told, exchange, this.#addresses)
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

  object(exchange: Exchange, segment: string): Promise<Answer> {
    const { calls, identify, env } = this.#parts
    return this.#answering(env.newId(), async () => {
      const objectId = objectIdIn(segment)
      const { info, read } = isSigned(exchange.path, exchange.query, env)
        ? await calls.linkedObject(objectId)
        : await calls.object(await identify(exchange)(), objectId)
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

/** RFC 7240, section 4.3. */
export function preferredWaitMs(exchange: Pick<Exchange, 'header'>): number {
  const prefer = exchange.header('prefer')
  const match = prefer === undefined ? null : /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:$|[,;])/i.exec(prefer)
  return match ? Number(match[1]) * 1000 : 0
}

function wrongType(type: string): Fault {
  const sent = type === '' ? 'no content type' : `"${type.slice(0, 100)}"`
  return new Fault(
    'malformed',
    `The request has ${sent}. Send application/json, or multipart/form-data with attachments.`,
    {
      code: 'UNSUPPORTED_CONTENT_TYPE',
    },
  )
}
