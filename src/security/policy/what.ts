/** Parses which operations a rule covers. This depends on the operation only, so it is evaluated once per operation. */
import type { Operation } from '../../core/operation/operation.ts'
import { RISKS, type Risk } from '../../core/operation/rules.ts'
import type { Field } from './field.ts'
import { createPattern, type Pattern } from './pattern.ts'
import type { Effect } from './policy.ts'

/** Tool Contract v1, "Capability Taxonomy": the capabilities that strict policies accept. */
export const CAPABILITIES = [
  'data.read',
  'data.write',
  'network.read',
  'network.write',
  'filesystem.read',
  'filesystem.write',
  'exec.command',
  'external.side_effect',
] as const

export interface Target {
  covers(operation: Operation): boolean
  /** The patterns for names. Empty if the rule names no operations. */
  readonly names: readonly Pattern[]
}

export const EVERYTHING: Target = { covers: () => true, names: [] }

export function parseWhat(field: Field, effect: Effect, strict: boolean): Target {
  const { operation, capability, risk } = field.members(['operation', 'capability', 'risk'])
  const names = operation?.oneOrMore().map(parseOperation) ?? []
  const capabilities = capability?.oneOrMore().map((one) => parseCapability(one, strict))
  const risks = risk && new Set(risk.oneOrMore().flatMap(parseRisk))
  return {
    names,
    covers: (candidate) =>
      (names.length === 0 || names.some(({ fits }) => fits(candidate.name.full))) &&
      (!capabilities || coversCapabilities(effect, capabilities, candidate.capabilities)) &&
      (!risks || risks.has(candidate.risk)),
  }
}

/**
 * A permission must cover every capability: permission to read data is not permission to run commands. For a denial,
 * one covered capability is enough.
 */
function coversCapabilities(effect: Effect, patterns: readonly Pattern[], capabilities: readonly string[]): boolean {
  const covered = (capability: string) => patterns.some(({ fits }) => fits(capability))
  if (effect !== 'allow') return capabilities.some(covered)
  return capabilities.length > 0 && capabilities.every(covered)
}

function parseOperation(field: Field): Pattern {
  const text = field.text()
  if (/^(?:\*|v[\d*]+:[\w.*-]+)$/.test(text)) return createPattern(text)
  return field.refuse(
    'must be an operation name, with * for any characters: v1:orders.*, or v*:orders.* for each version.',
  )
}

function parseCapability(field: Field, strict: boolean): Pattern {
  const text = field.text()
  if (!/^[a-z*][a-z0-9_.*]*$/.test(text)) {
    field.refuse('must be lower-case words with dots between them, such as network.read or network.*')
  }
  const pattern = createPattern(text)
  if (!strict || CAPABILITIES.some((known) => pattern.fits(known))) return pattern
  return field.refuse(`is not a capability that a strict policy accepts. Use one of ${CAPABILITIES.join(', ')}.`)
}

function parseRisk(field: Field): Risk[] {
  const text = field.text()
  const at = RISKS.findIndex((risk) => text === risk || text === `${risk}+`)
  if (at < 0)
    field.refuse(
      `must be one of ${RISKS.join(', ')}, optionally followed by + for that level and above, not "${text}".`,
    )
  return text.endsWith('+') ? RISKS.slice(at) : RISKS.slice(at, at + 1)
}
