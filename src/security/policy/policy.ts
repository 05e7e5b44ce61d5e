/** A policy as people write it, in YAML or in TypeScript: who may run what, with which arguments. */
import type { JsonValue } from '../../core/json.ts'
import type { Risk } from '../../core/operation.ts'

export const EFFECTS = ['allow', 'deny', 'approve'] as const
export type Effect = (typeof EFFECTS)[number]

type OneOrMore<T> = T | readonly T[]

export interface PolicyDefinition {
  /** What happens to a call that no rule is about. */
  default: Effect
  /** Only the eight capabilities of the Tool Contract are accepted. */
  strict?: boolean
  /** Each role belongs to whoever fits one of its entries. */
  roles?: Readonly<Record<string, readonly Person[]>>
  /** Whether operations of that risk must run in a sandbox; required unless given. */
  isolation?: { high?: IsolationNeed; critical?: IsolationNeed }
  rules?: readonly RuleDefinition[]
}

export type IsolationNeed = 'required' | 'optional'

export interface RuleDefinition {
  id: string
  effect: Effect
  /** Everybody unless given. */
  who?: Who
  /** Every operation unless given. */
  what?: What
  /** Whatever the arguments are unless given. */
  when?: Condition
  /** For the caller. */
  reason?: string
  /** Of a denial: the same call may be tried again. */
  retryable?: boolean
  approval?: { ttlSeconds?: number; selfApproval?: boolean }
}

/** All that is given must fit. `claim` is a path into the caller's claims, and the tests beside it are about its value. */
export interface Person extends Tests {
  subject?: OneOrMore<string>
  issuer?: OneOrMore<string>
  tenant?: OneOrMore<string>
  claim?: string
}

export interface Who extends Person {
  role?: OneOrMore<string>
  /** One of these must fit. */
  any?: readonly Who[]
}

export interface What {
  operation?: OneOrMore<string>
  /** Denials and approvals: the operation has one of these. Permissions: it has none besides these. */
  capability?: OneOrMore<string>
  /** `high`, or `high+` for high and above. */
  risk?: OneOrMore<Risk | `${Risk}+`>
}

/** What must be true of a value; of several, all. A value of another type, or none at all, passes no test. */
export interface Tests {
  equals?: JsonValue
  in?: readonly JsonValue[]
  /** Of a list: one of its items equals this. */
  includes?: JsonValue
  /** Of a text: `*` stands for any characters, `\*` for itself. */
  matches?: OneOrMore<string>
  lt?: number
  lte?: number
  gt?: number
  gte?: number
  exists?: boolean
  /** Of a text or a list. */
  length?: Pick<Tests, 'equals' | 'lt' | 'lte' | 'gt' | 'gte'>
  /** Of a list: true of one item. */
  some?: Condition
  /** Of a list: true of each item. */
  every?: Condition
}

/** Either tests of the value at `path` (inside `some` and `every`: of the item, if there is no path), or one of the three. */
export interface Condition extends Tests {
  path?: string
  all?: readonly Condition[]
  any?: readonly Condition[]
  not?: Condition
}

/** Gives a policy in TypeScript its types; it is checked when it is loaded. */
export function definePolicy(policy: PolicyDefinition): PolicyDefinition {
  return policy
}
