/** Reads the client library's errors: whether another try can help, and a short text for logs and people. */
import { findErrorBy, NetworkError, UserError } from '@platformatic/kafka'

/** False if the broker has refused the request, so that it would refuse it again. A silent broker can be asked again. */
export function canRetry(thrown: unknown): boolean {
  const error = thrown as Error
  if (isUnknownTopic(error) || isRefused(error)) return false
  return findErrorBy(error, 'code', NetworkError.code) !== null || findErrorBy(error, 'canRetry', false) === null
}

export function isUnknownTopic(thrown: unknown): boolean {
  const error = thrown as Error
  return (
    findErrorBy(error, 'apiId', 'UNKNOWN_TOPIC_OR_PARTITION') !== null ||
    // The library's own check of the metadata.
    error instanceof UserError
  )
}

/** True if the broker answers, and refuses the login or the permission. */
export function isRefused(thrown: unknown): boolean {
  const error = thrown as Error
  return REFUSALS.some(([property, value]) => findErrorBy(error, property, value) !== null)
}

const REFUSALS = [
  ['code', 'PLT_KFK_AUTHENTICATION'],
  ['apiId', 'SASL_AUTHENTICATION_FAILED'],
  ['apiId', 'TOPIC_AUTHORIZATION_FAILED'],
  ['apiId', 'GROUP_AUTHORIZATION_FAILED'],
  ['apiId', 'CLUSTER_AUTHORIZATION_FAILED'],
] as const

/** The innermost messages. The error objects themselves hold buffers, connections and circles. */
export function describeError(thrown: unknown): string {
  const messages = new Set<string>()
  const collect = (error: unknown, depth: number) => {
    if (!(error instanceof Error) || depth > 8) return
    const inner = [...('errors' in error && Array.isArray(error.errors) ? error.errors : []), error.cause].filter(
      Boolean,
    )
    if (inner.length === 0) messages.add(error.message)
    for (const one of inner) collect(one, depth + 1)
  }
  collect(thrown, 0)
  return [...messages].slice(0, 3).join('; ') || String(thrown)
}
