/** Runs OpenCALL envelopes without HTTP, for other protocols that contain them. "Agent Binding". */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { unknownOperation } from '../../core/operation/names.ts'
import type { Calls, Client } from '../../core/ports/calls.ts'
import type { Catalog } from '../../core/ports/catalog.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { explain } from '../../wire/explain.ts'
import { replyEnvelope } from './addresses.ts'
import { decodeCall, encodeRefusal, referencedMedia } from './codec.ts'
import { parseEnvelope, requestIdIn, sessionIdIn } from './envelope.ts'
import { startMeta } from './meta.ts'
import type { ResponseEnvelope } from './wire.ts'

export interface EnvelopeCallParts {
  calls: Pick<Calls, 'call'>
  catalog: Pick<Catalog, 'resolve'>
  env: Environment
  /** True to follow the specification literally, without the lenient readings. */
  strict: boolean
}

export interface EnvelopeAsker extends Client {
  caller: Caller | undefined
  /** How long to wait for an async call to end. */
  holdMs: number
  /** Called with the id of the call once the caller waits for it. */
  waitsFor?(requestId: string): void
}

export interface EnvelopeCalls {
  readonly requestSchema: JsonObject
  readonly responseSchema: JsonObject
  /** Returns every failure in the envelope, except `unauthenticated`, which it throws. */
  call(sent: JsonValue, asker: EnvelopeAsker): Promise<{ envelope: ResponseEnvelope; failed: boolean }>
}

export function createEnvelopeCalls(parts: EnvelopeCallParts): EnvelopeCalls {
  const { calls, catalog, env, strict } = parts

  async function run(sent: JsonValue, asker: EnvelopeAsker) {
    const { caller, holdMs } = asker
    const request = parseEnvelope(sent, strict)
    const meta = startMeta(request, env.clock)
    const operation = catalog.resolve(request.op, env.clock.now())
    // Agents must not administer the server.
    if (operation.internal) throw unknownOperation(request.op)
    const requestId = request.ctx.requestId ?? env.newId()
    const call = decodeCall(request, requestId, referencedMedia(request.media))
    const recorded = () => asker.waitsFor?.(requestId)
    // A request id from the client may be that of an earlier call, whose state the client asks for.
    if (request.ctx.requestId !== undefined) recorded()
    const reply = await calls.call(call, () => caller, { client: asker, holdMs, hold: true, recorded })
    if (reply.state !== 'error')
      return { envelope: withoutCredential(replyEnvelope(reply, asker, meta?.())), failed: false }
    return { envelope: replyEnvelope({ ...reply, fault: forModels(reply.fault) }, asker, meta?.()), failed: true }
  }

  return {
    requestSchema: REQUEST_SCHEMA,
    responseSchema: RESPONSE_SCHEMA,
    async call(sent, asker) {
      try {
        return await run(sent, asker)
      } catch (thrown) {
        const fault = explain(thrown, env.log)
        if (fault.kind === 'unauthenticated') throw fault
        const requestId = requestIdIn(sent) ?? env.newId()
        return { envelope: encodeRefusal(forModels(fault), requestId, sessionIdIn(sent)), failed: true }
      }
    },
  }
}

/** Removes the developer message, because an agent's model reads the envelope. */
function forModels(fault: Fault): Fault {
  const { developerMessage: _unseen, ...record } = fault.toRecord()
  return Fault.fromRecord(record)
}

function withoutCredential(envelope: ResponseEnvelope): ResponseEnvelope {
  return envelope.location?.auth ? { ...envelope, location: { uri: envelope.location.uri } } : envelope
}

const TEXT = { type: 'string' }

const REQUEST_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    op: { type: 'string', description: 'The operation, with its version: v1:orders.getItem.' },
    args: { type: 'object', description: "The operation's arguments, which must match its argsSchema." },
    ctx: {
      type: 'object',
      properties: {
        requestId: {
          type: 'string',
          description: 'Id of this call. Send the same id and args again to get its current state.',
        },
        sessionId: { type: 'string', description: 'Groups calls that belong together.' },
        parentId: TEXT,
        idempotencyKey: {
          type: 'string',
          description: 'An operation with side effects runs only once for the same key.',
        },
        timeoutMs: { type: 'number', minimum: 0 },
        locale: TEXT,
        traceparent: TEXT,
      },
    },
    media: {
      type: 'array',
      items: {
        type: 'object',
        properties: { name: TEXT, mimeType: TEXT, ref: { type: 'string', description: 'The address of the file.' } },
        required: ['name', 'mimeType', 'ref'],
      },
    },
  },
  required: ['op'],
}

const RESPONSE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    requestId: TEXT,
    sessionId: TEXT,
    state: { enum: ['accepted', 'pending', 'complete', 'error', 'streaming'] },
    result: {},
    error: {
      type: 'object',
      properties: { code: TEXT, message: TEXT, cause: { type: 'object' } },
      required: ['code', 'message'],
    },
    location: { type: 'object', properties: { uri: TEXT, auth: { type: 'object' } }, required: ['uri'] },
    expiresAt: { type: 'number' },
    retryAfterMs: { type: 'number' },
    meta: { type: 'object', properties: { op: TEXT, durationMs: { type: 'integer' } } },
    progress: {
      type: 'object',
      properties: { fraction: { type: 'number' }, message: TEXT, attempt: { type: 'integer' } },
    },
  },
  required: ['requestId', 'state'],
}
