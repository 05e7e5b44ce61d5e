/** The hashes that make request ids, idempotency keys and callers unique, as 32 hex digits of SHA-256. */
import { hash } from 'node:crypto'
import type { Instance } from '../../../core/call/instance.ts'
import { nameIn } from '../../../core/operation/names.ts'
import { encodeText } from '../sql/plain-text.ts'

export function requestKey(tenant: string, owner: string, requestId: string): string {
  return digestOf('r', tenant, owner, requestId)
}

export function keyHash({ tenant, owner, operation, idempotencyKey }: Instance): string | undefined {
  return idempotencyKey === undefined ? undefined : digestOf('k', tenant, owner, nameIn(operation), idempotencyKey)
}

/** The caller's JSON has tenant and owner too, as a rule. A store must not rely on it. */
export function callerHash(tenant: string, owner: string, caller: string): string {
  return digestOf('c', tenant, owner, caller)
}

/** The lengths keep two lists of parts apart that have the same text when joined. */
function digestOf(...parts: readonly string[]): string {
  let lengths = ''
  let text = ''
  for (let at = 0; at < parts.length; at++) {
    const part = encodeText(parts[at] as string)
    lengths += at === 0 ? part.length : ` ${part.length}`
    text += part
  }
  return hash('sha256', `${lengths}\n${text}`, 'hex').slice(0, 32)
}
