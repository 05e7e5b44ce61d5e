/** OpenCALL's topics on a publish/subscribe broker. "MQTT Binding" and docs/readings.md#r34. */

/** The filter of all requests: `ops/{op}`. */
export const REQUEST_TOPICS = 'ops/+'

/** The filter of all default response topics. */
export const RESPONSE_TOPICS = 'ops/+/response'

/** Most ids need no encoding. */
const PLAIN = /^[\w.~:-]+$/

/** The operation that a request topic names. */
export function operationIn(topic: string): string {
  const level = topic.slice(topic.indexOf('/') + 1)
  if (!level.includes('%')) return level
  try {
    return decodeURIComponent(level)
  } catch {
    return level
  }
}

export function responseTopic(requestId: string): string {
  return `ops/${encodeLevel(requestId)}/response`
}

/** With a request id, the topic of a further stream of the same operation in the same session. */
export function frameTopic(sessionId: string, op: string, requestId?: string): string {
  const topic = `streams/${encodeLevel(sessionId)}/${encodeLevel(op)}`
  return requestId === undefined ? topic : `${topic}/${encodeLevel(requestId)}`
}

/** Ids come from callers: one must not become several levels or a wildcard. A colon is left, as in `v1:device.watch`. */
function encodeLevel(id: string): string {
  if (PLAIN.test(id)) return id
  return encodeURIComponent(id).replaceAll('%3A', ':')
}
