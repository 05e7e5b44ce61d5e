/** Reads the client library's errors: whether another try can help, and a short text for logs and people. */
import { NetworkError, UserError } from '@platformatic/kafka'

/** The broker refuses the login. */
const LOGIN = ['SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE']
/** The broker knows who asks, and does not permit it. */
const PERMISSION = ['TOPIC_AUTHORIZATION_FAILED', 'GROUP_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED']
const TOO_LARGE = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']

/**
 * False if the broker has refused the message: it would refuse it again. A broker that does not answer is tried again.
 * So is one that refuses the login: messages wait until an operator corrects the login.
 */
export function canRetry(thrown: unknown): boolean {
  if (isUnknownTopic(thrown) || some(thrown, ({ apiId }) => PERMISSION.includes(apiId))) return false
  return (
    some(thrown, ({ code, apiId }) => code === NetworkError.code || LOGIN.includes(apiId)) ||
    !some(thrown, (error) => error.canRetry === false)
  )
}

export function isUnknownTopic(thrown: unknown): boolean {
  // The library reports a topic that its metadata lacks as a UserError.
  return thrown instanceof UserError || some(thrown, ({ apiId }) => apiId === 'UNKNOWN_TOPIC_OR_PARTITION')
}

/** True if the broker has refused the message because of its size. */
export function isTooLarge(thrown: unknown): boolean {
  return some(thrown, ({ apiId }) => TOO_LARGE.includes(apiId))
}

/** True if the broker answers, and refuses the login or the permission. */
export function isRefused(thrown: unknown): boolean {
  return some(thrown, ({ apiId }) => LOGIN.includes(apiId) || PERMISSION.includes(apiId))
}

/** The innermost messages. The error objects contain buffers, connections and circular references. */
export function describeError(thrown: unknown): string {
  const messages = new Set<string>()
  some(thrown, (error) => {
    if (innerOf(error).length === 0) messages.add(error.message)
    return false
  })
  return [...messages].slice(0, 3).join('; ') || String(thrown)
}

/** The library's errors have further properties, and are nested as lists and as causes. */
type KafkaError = Error & { apiId: string; code?: string; canRetry?: boolean; errors?: unknown }

const MAX_DEPTH = 8

function some(thrown: unknown, holds: (error: KafkaError) => boolean, depth = 0): boolean {
  if (!(thrown instanceof Error) || depth > MAX_DEPTH) return false
  const error = thrown as KafkaError
  return holds(error) || innerOf(error).some((inner) => some(inner, holds, depth + 1))
}

function innerOf({ errors, cause }: KafkaError): unknown[] {
  return [...(Array.isArray(errors) ? errors : []), ...(cause ? [cause] : [])]
}
