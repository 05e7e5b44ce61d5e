/** OpenCALL's topics on a publish/subscribe broker. "MQTT Binding" and docs/readings.md#r34. */

import { registeredName } from '../../core/operation/names.ts'
import type { NewStream } from '../../core/ports/frames.ts'

type StreamIds = Pick<NewStream, 'sessionId' | 'operation' | 'requestId' | 'id'>

/** The filter of all requests: `ops/{op}`. */
export const REQUEST_TOPICS = 'ops/+'

/** The filter of all default response topics. */
export const RESPONSE_TOPICS = 'ops/+/response'

/** Most ids need no encoding. */
const PLAIN = /^[\w.~:-]+$/

/** The operation that a request topic names. */
export function operationIn(topic: string): string {
  return registeredName(decodeLevel(topic.slice(topic.indexOf('/') + 1)))
}

export function responseTopic(requestId: string): string {
  return `ops/${encodeLevel(requestId)}/response`
}

/** The filter of all frames of a session. */
export function sessionTopics(sessionId: string): string {
  return `streams/${encodeLevel(sessionId)}/#`
}

/**
 * The topics on which the frames of a stream may be, in order of preference. The first is for one stream of an operation in
 * a session. The second is for a further one. Sessions and request ids belong to a caller, so another caller may use the same
 * ones: the last topic is for no other stream.
 */
export function frameTopics({ sessionId, operation, requestId, id }: StreamIds): [string, string, string] {
  const first = `streams/${encodeLevel(sessionId)}/${encodeLevel(operation)}`
  const further = `${first}/${encodeLevel(requestId)}`
  return [first, further, `${further}/${encodeLevel(id)}`]
}

function decodeLevel(level: string): string {
  if (!level.includes('%')) return level
  try {
    return decodeURIComponent(level)
  } catch {
    return level
  }
}

/** Ids come from callers: one must not become several levels or a wildcard. A colon is left, as in `v1:device.watch`. */
function encodeLevel(id: string): string {
  if (PLAIN.test(id)) return id
  return encodeURIComponent(id).replaceAll('%3A', ':')
}
