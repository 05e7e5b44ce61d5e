/**
 * The route for callbacks of webhook tools. A sender that knows the secret of a call's operation may deliver its
 * callback, once. Tool Contract v1, "Transport-Specific Behavior", webhook-callback; docs/readings.md#a19.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Delivery } from '../../engine/wait/callbacks.ts'
import { DEFAULT_MAX_BYTES, parseResponse } from '../../protocols/contract/client.ts'
import { parseJsonText } from '../../wire/strict-json.ts'

export interface CallbackParts {
  /** Delivers the callback to the waiting call. `signed` is the text that the signature covers. */
  deliver(requestId: string, answer: JsonObject, signed: string): Promise<Delivery>
  /**
   * The secret that must sign a callback to this call. `undefined` if there is no such call or it takes no callback.
   */
  secretFor(requestId: string): Promise<string | undefined>
  clock: Pick<Clock, 'now'>
  refuse: Refuse
  maxBytes?: number
}

const MAX_SKEW_SECONDS = 300

export function createCallbackRoutes(parts: CallbackParts): Route[] {
  const { deliver, secretFor, clock, refuse, maxBytes = DEFAULT_MAX_BYTES } = parts
  return [
    {
      path: '/v1/tool-callbacks/{request_id}',
      refuse,
      methods: {
        async POST(exchange, { request_id: requestId = '' }) {
          const timestamp = exchange.header('x-timestamp') ?? ''
          // Checked before the body is read: a request with an invalid time must not make us read four megabytes.
          if (!isRecent(timestamp, clock.now())) return UNSIGNED
          const body = await exchange.text(maxBytes)
          const secret = await secretFor(requestId)
          if (secret === undefined) return DELIVERED.unknown
          const signed = `${timestamp}.${body}`
          if (!isSigned(exchange, secret, signed)) return UNSIGNED
          const answer = parseAnswer(body, requestId)
          if (answer instanceof Fault) return reply(400, answer.message)
          return DELIVERED[await deliver(requestId, answer, signed)]
        },
      },
    },
  ]
}

function isRecent(timestamp: string, now: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now / 1000 - Number(timestamp)) <= MAX_SKEW_SECONDS
}

function isSigned(exchange: Exchange, secret: string, signed: string): boolean {
  const given = /^(?:sha256=)?([0-9a-f]{64})$/i.exec(exchange.header('x-signature') ?? '')?.[1]
  if (given === undefined) return false
  return timingSafeEqual(Buffer.from(given, 'hex'), createHmac('sha256', secret).update(signed).digest())
}

/** docs/readings.md#a14: a callback that is not final, or names another call, is ignored. */
function parseAnswer(body: string, requestId: string): JsonObject | Fault {
  try {
    return parseResponse(parseJsonText(body), requestId).body
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown
    throw thrown
  }
}

const UNSIGNED = reply(
  401,
  'The callback is not signed with the secret of a waiting call. Send X-Timestamp (Unix seconds, now) and ' +
    'X-Signature: HMAC-SHA256 in hex over the timestamp, a dot and the body.',
)

const DELIVERED: Record<Delivery, Answer> = {
  taken: { status: 202, headers: {} },
  answered: reply(409, 'This call already has its callback. Only the first one counts.'),
  'other-try': reply(409, 'This callback belongs to another attempt. Send the "attempt" of the latest request.'),
  unknown: reply(404, 'No call waits for this callback. Check the request_id; the call may have expired.'),
}

function reply(status: number, message: string): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify({ error: message }),
  }
}
