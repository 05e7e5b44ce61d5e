/** Publishes a response long after its request: to the address that was stored with it. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { isLargerThan } from '../../wire/messages/text.ts'
import type { Broker } from './broker.ts'
import { isTooLarge } from './redelivery.ts'
import { addressAt, namesBytesOf, type ReplyTopics } from './reply-address.ts'

/** A broker that is slower than this counts as away. */
const LONGEST_MS = 20_000

export interface LateMessage {
  place: JsonObject
  message: string
  about: string
}

/** Resolves when the broker has the message. */
export async function publishLate(
  broker: Broker,
  topics: ReplyTopics,
  { place, message, about }: LateMessage,
  signal: AbortSignal,
): Promise<void> {
  if (!broker.state.connected) throw away(broker.state.detail)
  const address = addressAt(place, topics)
  const { correlationData } = address
  const topic = address.topic(about) as string
  if (isLargerThan(message, broker.maxPayloadBytes(namesBytesOf(topic, address)))) throw tooLarge()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const settled = (isKnown: boolean, refusal?: Error) => {
    if (!isKnown) reject(away('The server is shutting down.'))
    else if (refusal) reject(refusalOf(refusal))
    else resolve()
  }
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)])
  limit.addEventListener('abort', () => reject(away('It did not confirm a message.')), { once: true })
  await broker.publish(topic, message, {
    qos: 1,
    settled,
    ...(correlationData && { correlationData }),
  })
  await promise
}

export function tooLarge(): Fault {
  const message = 'The response is larger than the broker allows. Read it over HTTP, or in chunks.'
  return new Fault('overloaded', message, { code: 'RESPONSE_TOO_LARGE', retryable: false })
}

function away(detail = ''): Fault {
  return new Fault('unavailable', `The MQTT broker cannot be reached. ${detail}`)
}

/** Why a message could not be published, for the peer. */
export function refusalOf(cause: Error): Fault {
  if (isTooLarge(cause)) return tooLarge()
  return new Fault('upstream', `The MQTT broker refused a message: ${cause.message}`, { retryable: false, cause })
}
