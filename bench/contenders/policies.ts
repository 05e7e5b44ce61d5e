/** Policies with many rules, as organisations write them, and the callers and operations that they apply to. */
import type { Caller, PolicyDefinition } from '../../src/index.ts'

type Rule = NonNullable<PolicyDefinition['rules']>[number]

const AREAS = ['orders', 'invoices', 'files', 'mail', 'search', 'payroll', 'tickets', 'stock', 'reports', 'people']
const ACTIONS = ['get', 'list', 'find', 'create', 'update', 'remove', 'export', 'import', 'send', 'check']
const TEAMS = 20
const PEOPLE = 50

export function operationNames(): string[] {
  return AREAS.flatMap((area) => ACTIONS.map((action) => `v1:${area}.${action}`))
}

export function callerAt(index: number): Caller {
  return CALLERS[index % PEOPLE] as Caller
}

const CALLERS: readonly Caller[] = Array.from({ length: PEOPLE }, (_, index) => ({
  tenant: 'main',
  issuer: 'https://login.example',
  subject: `team${index % TEAMS}-person${index}`,
  scopes: ['*'],
  claims: { groups: ['staff', `team${index % TEAMS}`], level: index % 5 },
}))

/** Each mix exercises one kind of lookup. No rule denies a call of the callers above. */
const RULES = {
  roles: (at) => ({
    id: `role-${at}`,
    effect: 'allow',
    who: { role: `team${at % TEAMS}` },
    what: { operation: `v1:${pick(AREAS, at)}.${at % 3 === 0 ? '*' : pick(ACTIONS, Math.floor(at / 10))}` },
  }),
  subjects: (at) => ({ id: `subject-${at}`, effect: 'deny', who: { subject: `left-person${at}` } }),
  patterns: (at) => ({ id: `pattern-${at}`, effect: 'deny', who: { subject: `contractor${at}-*` } }),
  arguments: (at) => ({
    id: `argument-${at}`,
    effect: 'deny',
    what: { operation: `v*:${pick(AREAS, at)}.*` },
    when: { path: 'b', gt: 1_000 + at },
  }),
} satisfies Record<string, (at: number) => Rule>

const KINDS = Object.values(RULES) as ((at: number) => Rule)[]

export type Mix = keyof typeof RULES | 'mixed'

export const MIXES: readonly Mix[] = [...(Object.keys(RULES) as (keyof typeof RULES)[]), 'mixed']

export function policyOf(rules: number, mix: Mix = 'mixed'): PolicyDefinition {
  const ruleAt = mix === 'mixed' ? (at: number) => pick(KINDS, at)(Math.floor(at / KINDS.length)) : RULES[mix]
  const team = (at: number) => [`team${at}`, [{ claim: 'groups', includes: `team${at}` }]] as const
  return {
    default: 'allow',
    roles: Object.fromEntries(Array.from({ length: TEAMS }, (_, at) => team(at))),
    rules: Array.from({ length: rules }, (_, at) => ruleAt(at)),
  }
}

function pick<T>(list: readonly T[], at: number): T {
  return list[at % list.length] as T
}
