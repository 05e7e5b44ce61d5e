/**
 * Where the responses to a message go: the response topic that the message names, if that is allowed, or the default
 * one.
 */
import { Fault } from '../../core/fault.ts'
import type { Delivery } from './broker.ts'
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
}

export function replyAddress({ responseTopic, correlationData }: Delivery, topics: ReplyTopics): ReplyAddress {
  const correlation = correlationData && { correlationData }
  const byDefault = (about: string | undefined) => (about === undefined ? undefined : topics.about(about))
  if (responseTopic === undefined) return { topic: byDefault, ...correlation }
  if (!isAllowed(responseTopic, topics)) return { topic: byDefault, ...correlation, refused: foreignTopic() }
  return { topic: () => responseTopic, ...correlation }
}

function isAllowed(topic: string, { requests, allowed }: ReplyTopics): boolean {
  if (!isTopicName(topic) || matchesFilter(requests, topic)) return false
  return allowed.some((filter) => matchesFilter(filter, topic))
}

function foreignTopic(): Fault {
  const message = 'Responses may not go to this response topic. Leave it out, or ask the operator to allow it.'
  return new Fault('forbidden', message, { code: 'RESPONSE_TOPIC_NOT_ALLOWED' })
}
