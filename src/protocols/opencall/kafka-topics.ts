/**
 * The topics and headers of OpenCALL over Kafka, as data for the carrier. The specification names no topic, so every name
 * can be configured. docs/readings.md#r35.
 */
export const KAFKA_TOPICS = {
  operations: 'callplane.ops',
  replies: 'callplane.replies',
  frames: 'callplane.frames',
} as const

export const KAFKA_HEADERS = {
  /** Names the topic of the replies to this message. */
  replyTopic: 'reply-topic',
  /** Repeated in every reply to this message. */
  correlation: 'correlation-id',
  /** Distinguishes streams of several callers with the same request id. */
  stream: 'stream-id',
  /** On a message that was put aside: the refusal. */
  refusal: 'refusal',
} as const

const MAX_TOPIC = 249

/** The topic of an operation's frames below a prefix: `callplane.frames.v1.device.watch` for `v1:device.watch`. */
export function frameTopicOf(prefix: string, operation: string): string {
  return `${prefix}.${operation.replace(/[^\w.-]/g, '.')}`.slice(0, MAX_TOPIC)
}
