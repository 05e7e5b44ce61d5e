/** The addresses of channels: the topics of the protocol, with parameters instead of ids. */
import { KAFKA_TOPICS } from '../../protocols/opencall/kafka-topics.ts'
import { frameTopics, REQUEST_TOPICS, RESPONSE_TOPICS } from '../../protocols/opencall/topics.ts'

export { KAFKA_TOPICS }

export function requestTopicOf(operation: string): string {
  return REQUEST_TOPICS.replace('+', operation)
}

export const RESPONSE_TOPIC = RESPONSE_TOPICS.replace('+', '{requestId}')

/** `streams/{sessionId}/v1:device.watch`. Braces would be encoded as part of an id, so they are put in afterwards. */
export function frameTopicOf(operation: string): string {
  const [topic] = frameTopics({ sessionId: 'session', operation, requestId: '', id: '' })
  return topic.replace('session', '{sessionId}')
}
