/** Names and filters of topics, as MQTT defines them. */

const MAX_TOPIC_BYTES = 65_535

/** True if a message can be published on it. */
export function isTopicName(topic: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a broker closes the connection of a client that sends NUL.
  return topic !== '' && !/[+#\u0000]/.test(topic) && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES
}

export function matchesFilter(filter: string, topic: string): boolean {
  const wanted = filter.split('/')
  const levels = topic.split('/')
  // Wildcards do not reach the topics of the broker itself, such as $SYS.
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= levels.length || (level !== '+' && level !== levels[index])) return false
  }
  return wanted.length === levels.length
}
