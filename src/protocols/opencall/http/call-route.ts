/**
 * `POST /call` and `POST /ops/{path}/{version}`: reads the envelope and its attachments, makes the call, and encodes the reply.
 */

import type { MediaInput } from '../../../core/call/call.ts'
import { bareType } from '../../../core/call/media.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { ReadWish } from '../../../core/ports/calls.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import type { Identify, Presented } from '../../../core/ports/guard.ts'
import { explain } from '../../../wire/explain.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import type { AddressSettings } from '../addresses.ts'
import { decodeCall, referencedMedia } from '../codec.ts'
import { parseEnvelope, requestIdIn, sessionIdIn } from '../envelope.ts'
import { namingRemoved } from '../faults.ts'
import { startMeta, type Told } from '../meta.ts'
import { readWish } from '../stream-wish.ts'
import type { RequestEnvelope } from '../wire.ts'
import { callAnswer, refusalAnswer } from './answers.ts'
import { Deprecations } from './deprecation.ts'
import { agreedKey } from './idempotency-key.ts'
import type { OpenCallParts } from './parts.ts'
import { preferredWaitMs } from './prefer.ts'
import { receiveMultipart, type UploadParts } from './uploads.ts'

export class CallRoute {
  readonly #parts: OpenCallParts
  readonly #uploads: UploadParts
  readonly #addresses: AddressSettings
  readonly #readWish: ReadWish
  readonly #deprecations: Deprecations

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
    this.#readWish = readWish(parts.transports)
    this.#deprecations = new Deprecations(parts.catalog)
  }

  /**
   * `addressed` is the operation that the path names. Creates a promise only if the body is not complete yet or the call
   * does not end synchronously.
   */
  call(exchange: Exchange, addressed?: string): Answer | Promise<Answer> {
    try {
      const type = bareType(exchange.header('content-type') ?? '')
      if (type === 'multipart/form-data') return this.#callWithParts(exchange, addressed)
      if (type !== 'application/json') throw wrongType(type)
      const text = exchange.text(this.#parts.settings.maxEnvelopeBytes)
      return text instanceof Promise
        ? this.#callWhenRead(text, exchange, addressed)
        : this.#callWith(text, exchange, addressed)
    } catch (thrown) {
      return this.#refuse(thrown, null)
    }
  }

  async #callWhenRead(text: Promise<string>, exchange: Exchange, addressed: string | undefined): Promise<Answer> {
    let read: string
    try {
      read = await text
    } catch (thrown) {
      return this.#refuse(thrown, null)
    }
    return this.#callWith(read, exchange, addressed)
  }

  #callWith(text: string, exchange: Exchange, addressed: string | undefined): Answer | Promise<Answer> {
    let sent: JsonValue = null
    try {
      sent = parseJsonText(text)
      const envelope = this.#parse(sent, exchange, addressed)
      const identify = this.#parts.identify(presentedBy(exchange, envelope))
      const answering = this.#invoke(exchange, envelope, referencedMedia(envelope.media), identify)
      if (!(answering instanceof Promise)) return answering
      return answering.catch((thrown) => this.#refuse(thrown, sent))
    } catch (thrown) {
      return this.#refuse(thrown, sent)
    }
  }

  #parse(sent: JsonValue, exchange: Exchange, addressed: string | undefined): RequestEnvelope {
    const envelope = parseEnvelope(sent, this.#parts.settings.strict, addressed)
    const header = exchange.header('idempotency-key')
    if (header !== undefined) envelope.ctx.idempotencyKey = agreedKey(header, envelope.ctx.idempotencyKey)
    return envelope
  }

  async #callWithParts(exchange: Exchange, addressed: string | undefined): Promise<Answer> {
    let sent: JsonValue = null
    let known: RequestEnvelope | undefined
    const parse = (value: JsonValue) => {
      sent = value
      known = this.#parse(value, exchange, addressed)
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
    return refusalAnswer(
      explain(thrown, this.#parts.env.log),
      requestIdIn(sent) ?? this.#parts.env.newId(),
      sessionIdIn(sent),
    )
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
    const told: Told = { op: envelope.op, meta: startMeta(envelope, env.clock) }
    const call = decodeCall(envelope, requestId, media, exchange.header('traceparent'))
    if (uploads !== undefined) call.uploads = uploads
    const replying = calls.call(call, identify, {
      client: exchange,
      holdMs: Math.min(preferredWaitMs(exchange), settings.maxWaitMs),
      hold: true,
      stream: this.#readWish,
    })
    if (replying instanceof Promise) return replying.then((reply) => this.#answer(reply, exchange, told))
    return this.#answer(replying, exchange, told)
  }

  #answer(reply: Reply, exchange: Exchange, told: Told): Answer {
    const answer = this.#encode(reply, exchange, told)
    const deprecation = this.#deprecations.headersOf(told.op)
    return deprecation ? { ...answer, headers: { ...answer.headers, ...deprecation } } : answer
  }

  #encode(reply: Reply, exchange: Exchange, { op, meta }: Told): Answer {
    if (reply.state !== 'error') return callAnswer(reply, exchange, this.#addresses, meta?.())
    const { fault } = reply
    const told = fault.kind === 'removed' ? { ...reply, fault: namingRemoved(fault, op) } : reply
    return callAnswer(told, exchange, this.#addresses, meta?.())
  }
}

function presentedBy(exchange: Exchange, envelope: RequestEnvelope | undefined): Presented {
  const auth = envelope?.auth
  return auth ? { header: (name) => exchange.header(name), auth } : exchange
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
