/** What a session refuses before it makes a call. */
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Message } from '../../../core/ports/session.ts'
import { readText } from '../../../wire/messages/text.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import type { RequestEnvelope } from '../wire.ts'

/** Without an id, a message that is delivered twice would be two calls. */
export function requireIdentity({ ctx }: RequestEnvelope): void {
  if (ctx.requestId !== undefined || ctx.idempotencyKey !== undefined) return
  const message = 'Send "ctx.requestId": this transport may deliver an envelope twice, and the id finds the first call.'
  throw new Fault('malformed', message, { details: { field: 'ctx.requestId' } })
}

export function refuseEffects({ name, sideEffecting }: Operation): void {
  if (!sideEffecting) return
  const message = `${name.full} has side effects. Send it with guaranteed delivery, such as QoS 1 in MQTT.`
  throw new Fault('invalid-input', message, { code: 'DELIVERY_NOT_GUARANTEED' })
}

export function addressedToAnother(subject: string): Fault {
  const message = `The envelope was sent to the address of ${subject}. Send it to the address of its own operation.`
  return new Fault('malformed', message, { code: 'OP_MISMATCH', details: { field: 'op' } })
}

export function cutOff(): Fault {
  return new Fault('unavailable', 'The server is shutting down. The message is delivered again.', {
    code: 'SHUTTING_DOWN',
  })
}

/**
 * True if a redelivery helps. While an identity provider is away, its callers are told so: anyone can send tokens that
 * need its keys, and such messages would fill the number that a broker sends unacknowledged.
 */
export function canRedeliver({ kind, code }: Fault): boolean {
  return kind === 'unavailable' && code !== 'AUTH_KEYS_UNAVAILABLE'
}

/** For a refusal: it names the request id if there is one. */
export function readLeniently(message: Message): JsonValue {
  try {
    return parseJsonText(readText(message))
  } catch {
    return null
  }
}

export function needsAuth(): Fault {
  const message = 'Send an "auth" block with the envelope: this transport does not identify its callers.'
  return new Fault('unauthenticated', message)
}
