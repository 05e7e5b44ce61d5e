/** A policy as people write it, in YAML or in TypeScript: who may run what, with which arguments. */
import type { JsonValue } from '../../core/json.ts'
import type { Risk } from '../../core/operation/rules.ts'

export const EFFECTS = ['allow', 'deny', 'approve'] as const
export type Effect = (typeof EFFECTS)[number]

type OneOrMore<T> = T | readonly T[]

export interface PolicyDefinition {
  /** The effect for calls that no rule matches. */
  default: Effect
  /** Accepts only the eight capabilities of the Tool Contract. */
  strict?: boolean
  /** A caller has a role if one of the role's entries matches. */
  roles?: Readonly<Record<string, readonly Person[]>>
  /** Sandbox requirement for operations of each risk. Default: required. */
  isolation?: { high?: IsolationNeed; critical?: IsolationNeed }
  rules?: readonly RuleDefinition[]
}

export type IsolationNeed = 'required' | 'optional'

export interface RuleDefinition {
  id: string
  effect: Effect
  /** Default: every caller. */
  who?: Who
  /** Default: every operation. */
  what?: What
  /** Default: any arguments. */
  when?: Condition
  /** Shown to the caller. */
  reason?: string
  /** For denials: true if the caller may try the same call again. */
  retryable?: boolean
  approval?: { ttlSeconds?: number; selfApproval?: boolean }
}

/**
 * All given fields must match. `claim` is a path into the caller's claims, and the tests beside it apply to its value.
 */
export interface Person extends Tests {
  subject?: OneOrMore<string>
  issuer?: OneOrMore<string>
  tenant?: OneOrMore<string>
  claim?: string
}

export interface Who extends Person {
  role?: OneOrMore<string>
  /** At least one of these must match. */
  any?: readonly Who[]
}

export interface What {
  operation?: OneOrMore<string>
  /** For denials and approvals: the operation has one of these. For permissions: it has no others. */
  capability?: OneOrMore<string>
  /** `high`, or `high+` for high and above. */
  risk?: OneOrMore<Risk | `${Risk}+`>
}

/**
 * Tests of a value. If there are several, all must pass. A value of another type, or a missing value, passes no test.
 */
export interface Tests {
  equals?: JsonValue
  in?: readonly JsonValue[]
  /** For a list: one of its items equals this. */
  includes?: JsonValue
  /** For a string: `*` matches any characters, `\*` matches an asterisk. */
  matches?: OneOrMore<string>
  lt?: number
  lte?: number
  gt?: number
  gte?: number
  exists?: boolean
  /** For a string or a list. */
  length?: Pick<Tests, 'equals' | 'lt' | 'lte' | 'gt' | 'gte'>
  /** For a list: true for at least one item. */
  some?: Condition
  /** For a list: true for every item. */
  every?: Condition
}

/**
 * Either tests of the value at `path` (inside `some` and `every`, without a path: of the item), or one of `all`, `any`
 * and `not`.
 */
export interface Condition extends Tests {
  path?: string
  all?: readonly Condition[]
  any?: readonly Condition[]
  not?: Condition
}

/** Adds types to a policy in TypeScript. The policy is checked when it is loaded. */
export function definePolicy(policy: PolicyDefinition): PolicyDefinition {
  return policy
}
