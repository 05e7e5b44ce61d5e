/** Parses a policy, or reports what is wrong with it and where. */

import { allOf, type Clause } from './clause.ts'
import { ClauseIndex } from './clause-index.ts'
import { parseCondition } from './condition.ts'
import { Field, type Origin } from './field.ts'
import { EFFECTS, type Effect, type IsolationNeed } from './policy.ts'
import { EVERYTHING, parseWhat, type Target } from './what.ts'
import { parsePerson, parseWho } from './who.ts'

export interface Policy {
  /** The name of the file, with which references to its rules begin. */
  readonly name: string
  readonly default: Effect
  readonly strict: boolean
  readonly roles: ClauseIndex<string>
  readonly roleNames: readonly string[]
  readonly isolation: Readonly<Record<'high' | 'critical', IsolationNeed>>
  readonly rules: readonly Rule[]
}

export interface Rule {
  /** For example `policy.yaml#no-deletes`. */
  readonly reference: string
  readonly effect: Effect
  readonly target: Target
  readonly clause: Clause
  readonly reason?: string
  readonly retryable: boolean
  readonly approvalTtlMs?: number
  readonly selfApproval: boolean
}

const NEEDS = ['required', 'optional'] as const
const RULE_FIELDS = ['id', 'effect', 'who', 'what', 'when', 'reason', 'retryable', 'approval'] as const
const MAX_TTL_SECONDS = 365 * 86_400

/** The origin of a policy that is not a file: a name without lines. */
function namedOnly(name: string): Origin {
  return { name, placeOf: () => name }
}

export function parsePolicy(definition: unknown, origin: Origin = namedOnly('policy')): Policy {
  const document = new Field(definition, origin)
  const fields = document.members(['default', 'strict', 'roles', 'isolation', 'rules'])
  const fallback =
    fields.default ?? document.refuse('needs a default for calls that no rule matches: allow, deny or approve.')
  const strict = fields.strict?.flag() ?? false
  const roles = fields.roles?.named() ?? {}
  const isolation = fields.isolation?.members(['high', 'critical']) ?? {}
  return {
    name: origin.name,
    default: fallback.oneOf(EFFECTS),
    strict,
    roles: new ClauseIndex(
      Object.entries(roles).flatMap(([value, people]) =>
        people.items().map((person) => ({ clause: parsePerson(person), value })),
      ),
    ),
    roleNames: Object.keys(roles),
    isolation: {
      high: isolation.high?.oneOf(NEEDS) ?? 'required',
      critical: isolation.critical?.oneOf(NEEDS) ?? 'required',
    },
    rules: parseRules(fields.rules, { name: origin.name, strict, roles: Object.keys(roles) }),
  }
}

interface Surroundings {
  name: string
  strict: boolean
  roles: readonly string[]
}

function parseRules(field: Field | undefined, surroundings: Surroundings): Rule[] {
  const rules = new Map<string, Rule>()
  for (const item of field?.items() ?? []) {
    const members = item.members(RULE_FIELDS)
    const id = parseId(item, members.id)
    if (rules.has(id)) members.id?.refuse(`is already used: "${id}". Give each rule a unique id.`)
    rules.set(id, parseRule(id, item, members, surroundings))
  }
  return [...rules.values()]
}

function parseId(item: Field, field: Field | undefined): string {
  if (!field) return item.refuse('needs an id. Denials refer to the rule by it.')
  const id = field.text()
  // "default" and "isolation.high" refer to settings of the policy outside its rules.
  if (/^[A-Za-z0-9][\w.-]{0,99}$/.test(id) && !/^(?:default$|isolation\.)/.test(id)) return id
  return field.refuse(
    'must consist of letters, digits, ".", "_" and "-". It must not be "default" or begin with "isolation."',
  )
}

function parseRule(
  id: string,
  item: Field,
  members: Partial<Record<(typeof RULE_FIELDS)[number], Field>>,
  { name, strict, roles }: Surroundings,
): Rule {
  const { who, what, when, reason, retryable, approval } = members
  const effect = members.effect?.oneOf(EFFECTS) ?? item.refuse('needs an effect: allow, deny or approve.')
  if (retryable && effect !== 'deny') retryable.refuse('is only allowed in rules with effect: deny.')
  if (approval && effect !== 'approve') approval.refuse('is only allowed in rules with effect: approve.')
  const { ttlSeconds, selfApproval } = approval?.members(['ttlSeconds', 'selfApproval']) ?? {}
  return {
    reference: `${name}#${id}`,
    effect,
    target: what ? parseWhat(what, effect, strict) : EVERYTHING,
    clause: allOf([...(who ? [parseWho(who, roles)] : []), ...(when ? [parseCondition(when)] : [])]),
    ...(reason && { reason: reason.text() }),
    retryable: retryable?.flag() ?? false,
    ...(ttlSeconds && { approvalTtlMs: parseTtl(ttlSeconds) * 1000 }),
    selfApproval: selfApproval?.flag() ?? false,
  }
}

function parseTtl(field: Field): number {
  const seconds = field.number()
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_TTL_SECONDS) return seconds
  return field.refuse(`must be a whole number of seconds from 1 to ${MAX_TTL_SECONDS}.`)
}
