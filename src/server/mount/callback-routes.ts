/**
 * Where the tools of webhook backends deliver their answers. Whoever knows the secret of a call's operation may answer
 * it, once. Tool Contract v1, "Transport-Specific Behavior", webhook-callback; docs/readings.md#a19.
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
  /** Hands the answer to the call that waits for it. `signed` is what its signature is over. */
  deliver(requestId: string, answer: JsonObject, signed: string): Promise<Delivery>
  /** What an answer to this call must be signed with; nothing if there is no such call, or nobody may answer it. */
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
          // Before the body is read: nobody sends us four megabytes under a time that does not count.
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

/** docs/readings.md#a14: an answer that is not final, or about another call, is ignored. */
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
  'The answer is not signed with the secret of a call that waits. Send X-Timestamp (Unix seconds, now) and ' +
    'X-Signature: HMAC-SHA256 in hex over the timestamp, a dot and the body.',
)

const DELIVERED: Record<Delivery, Answer> = {
  taken: { status: 202, headers: {} },
  answered: reply(409, 'This call has its answer; the first one counts.'),
  'other-try': reply(409, 'This is the answer of another try. Answer with the "attempt" of the latest request.'),
  unknown: reply(404, 'No call waits for this answer. Check the request_id, or whether its time is over.'),
}

function reply(status: number, message: string): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    body: JSON.stringify({ error: message }),
  }
}
