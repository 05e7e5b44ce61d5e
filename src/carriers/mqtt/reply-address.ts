/**
 * Where the responses to a message go: the response topic that the message names, if that is allowed, or the default
 * one.
 */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Delivery } from './delivery.ts'
import { isTopicName, matchesFilter } from './topic-filters.ts'

export interface ReplyTopics {
  /** The filter of the requests. A response that matches it would come back as a request. */
  requests: string
  /** The filters of the response topics that a message may name. */
  allowed: readonly string[]
  /** The default topic of messages about this subject. */
  about(subject: string): string
}

export interface ReplyAddress {
  /** `undefined` if the response has no topic. */
  topic(about: string | undefined): string | undefined
  correlationData?: Buffer
  /** Set if the message names a topic that is not allowed. Responses then go to the default topic. */
  refused?: Fault
  /** The address as it is stored with a call. Absent if it is too large for that. */
  place?: JsonObject
}

/** Enough for every id. A larger one is the caller's data, which the server does not store for it. */
const MAX_PLACE_BYTES = 4_096

export function replyAddress(
  { responseTopic, correlationData }: Pick<Delivery, 'responseTopic' | 'correlationData'>,
  topics: ReplyTopics,
): ReplyAddress {
  const correlation = correlationData && { correlationData }
  const byDefault = (about: string | undefined) => (about === undefined ? undefined : topics.about(about))
  const isNamed = responseTopic !== undefined && isAllowed(responseTopic, topics)
  const kept = placeOf(isNamed ? responseTopic : undefined, correlationData)
  const place = kept && { place: kept }
  if (isNamed) return { topic: () => responseTopic, ...correlation, ...place }
  const refused = responseTopic === undefined ? undefined : { refused: foreignTopic() }
  return { topic: byDefault, ...correlation, ...place, ...refused }
}

/** The address that `place` says. A topic that is no longer allowed is replaced by the default one. */
export function addressAt({ topic, correlation }: JsonObject, topics: ReplyTopics): ReplyAddress {
  const responseTopic = typeof topic === 'string' ? topic : undefined
  const correlationData = typeof correlation === 'string' ? Buffer.from(correlation, 'base64') : undefined
  return replyAddress({ responseTopic, correlationData }, topics)
}

/** The bytes of a packet to this topic that its sender names. */
export function namesBytesOf(topic: string, { correlationData }: Pick<ReplyAddress, 'correlationData'>): number {
  return Buffer.byteLength(topic) + (correlationData?.length ?? 0)
}

function placeOf(topic: string | undefined, correlation: Buffer | undefined): JsonObject | undefined {
  if ((topic?.length ?? 0) + (correlation?.length ?? 0) > MAX_PLACE_BYTES) return undefined
  return {
    ...(topic !== undefined && { topic }),
    ...(correlation && { correlation: correlation.toString('base64') }),
  }
}

function isAllowed(topic: string, { requests, allowed }: ReplyTopics): boolean {
  if (!isTopicName(topic) || matchesFilter(requests, topic)) return false
  return allowed.some((filter) => matchesFilter(filter, topic))
}

function foreignTopic(): Fault {
  const message = 'Responses may not go to this response topic. Leave it out, or ask the operator to allow it.'
  return new Fault('forbidden', message, { code: 'RESPONSE_TOPIC_NOT_ALLOWED' })
}
