/**
 * The arguments and the outcome of a call as an operator may see them: without secrets that this server knows, and
 * without fields that the operation's schema marks as sensitive.
 */
import type { Instance } from '../../../core/call/instance.ts'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { encodePointer } from '../../../core/json-pointer.ts'
import { nameIn } from '../../../core/operation/names.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { needleOf } from '../../../core/ports/call-list.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Registry } from '../../registry.ts'
import { withoutSensitive } from './sensitive.ts'

export interface RevealParts {
  env: Pick<Environment, 'redact'>
  registry: Pick<Registry, 'byKey' | 'latest'>
}

export const PARTS = ['args', 'result', 'error'] as const
export type Part = (typeof PARTS)[number]

export interface Revealed {
  value: JsonValue
  /** JSON pointers of the values that are not shown. */
  redactions: string[]
}

/** `undefined` if the call has no such part. */
export function reveal(parts: RevealParts, instance: Instance, part: Part): Revealed | undefined {
  const stored = partOf(instance, part)
  if (stored === undefined) return undefined
  const { schemas } = operationOf(parts.registry, instance) ?? {}
  const schema = part === 'args' ? schemas?.args : part === 'result' ? schemas?.result : undefined
  const open = schema ? withoutSensitive(schema, stored) : stored
  const value = parts.env.redact(open)
  return { value, redactions: differences(stored, value) }
}

/** Of a version that is gone, the current one says what is sensitive. */
function operationOf(registry: RevealParts['registry'], { operation: key }: Instance): Operation | undefined {
  return registry.byKey(key) ?? registry.latest(nameIn(key))
}

function partOf({ args, outcome }: Instance, part: Part): JsonValue | undefined {
  if (part === 'args') return args
  if (part === 'error') return outcome?.kind === 'fault' ? ({ ...outcome.fault } as JsonObject) : undefined
  if (outcome?.kind === 'result') return outcome.value
  if (outcome?.kind !== 'location') return undefined
  const { location } = outcome
  if (location.kind !== 'external' || !location.auth) return { location: { ...location } as JsonObject }
  // The credential is for the caller alone.
  const { auth, ...rest } = location
  return { location: { ...rest, auth: { credentialType: auth.credentialType } } as JsonObject }
}

/** True if the text is in a part that an operator may see. */
export function isRevealedText(parts: RevealParts, instance: Instance, text: string): boolean {
  const needle = needleOf(text)
  return PARTS.some((part) => holdsText(reveal(parts, instance, part)?.value, needle))
}

function holdsText(value: JsonValue | undefined, needle: string): boolean {
  return value !== undefined && JSON.stringify(value).toLowerCase().includes(needle)
}

function differences(before: JsonValue, after: JsonValue, path: readonly string[] = []): string[] {
  if (before === after) return []
  const at = encodePointer(path)
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return [at]
  const keys = Object.keys(before)
  // A key that held a secret has another name now.
  if (Array.isArray(before) !== Array.isArray(after) || keys.join('\n') !== Object.keys(after).join('\n')) return [at]
  const inBefore = before as JsonObject
  const inAfter = after as JsonObject
  return keys.flatMap((key) => differences(inBefore[key] as JsonValue, inAfter[key] as JsonValue, [...path, key]))
}
