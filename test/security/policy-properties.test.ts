import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Caller } from '../../src/core/call/caller.ts'
import type { JsonObject, JsonValue } from '../../src/core/json.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type {
  Condition,
  Person,
  PolicyDefinition,
  RuleDefinition,
  What,
  Who,
} from '../../src/security/policy/policy.ts'
import { aCaller, anOperation, decide } from './policy-calls.ts'

const OPERATIONS: readonly Operation[] = [
  anOperation('v1:orders.get', { capabilities: ['data.read'] }),
  anOperation('v1:orders.delete', { capabilities: ['data.write', 'exec.command'], risk: 'medium' }),
  anOperation('v2:mail.send', { capabilities: ['network.write'], risk: 'high' }, true),
  anOperation('v1:ping'),
]

const subjects = fc.constantFrom('ann', 'bob', 'agent-1')
const scalars = fc.constantFrom<JsonValue>('x', 'y', 1, 2, null, true)
const tests = fc.oneof(
  fc.record({ equals: scalars }),
  fc.record({ in: fc.array(scalars, { minLength: 1, maxLength: 3 }) }),
  fc.record({ includes: scalars }),
  fc.record({ gt: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ exists: fc.boolean() }),
)
const person: fc.Arbitrary<Person> = fc.oneof(
  fc.record({ subject: fc.array(fc.constantFrom('ann', 'bob', 'a*'), { minLength: 1, maxLength: 2 }) }),
  fc.tuple(fc.constantFrom('groups', 'level'), tests).map(([claim, test]) => ({ claim, ...test })),
  fc.tuple(subjects, tests).map(([subject, test]) => ({ subject, claim: 'groups', ...test })),
)
const who: fc.Arbitrary<Who> = fc.oneof(
  person,
  fc.record({ role: fc.subarray(['reader', 'writer'], { minLength: 1 }) }),
  fc.record({ any: fc.array(person, { minLength: 1, maxLength: 3 }) }),
)
const what: fc.Arbitrary<What> = fc.oneof(
  fc.record({ operation: fc.constantFrom('v1:orders.*', 'v*:*.send', '*', 'v1:ping') }),
  fc.record({ capability: fc.array(fc.constantFrom('data.*', 'exec.command'), { minLength: 1 }) }),
  fc.record({ risk: fc.constantFrom('low' as const, 'medium+' as const, 'high' as const) }),
)
const leaf: fc.Arbitrary<Condition> = fc
  .tuple(fc.constantFrom('kind', 'list', 'missing'), tests)
  .map(([path, test]) => ({ path, ...test }))
const when: fc.Arbitrary<Condition> = fc.oneof(
  leaf,
  fc.record({ not: leaf }),
  fc.record({ all: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
  fc.record({ any: fc.array(leaf, { minLength: 1, maxLength: 3 }) }),
)
const rule: fc.Arbitrary<Omit<RuleDefinition, 'id'>> = fc.record(
  { effect: fc.constantFrom('allow', 'deny', 'approve'), who, what, when },
  { requiredKeys: ['effect'] },
)
const policies: fc.Arbitrary<PolicyDefinition & { rules: RuleDefinition[] }> = fc.record({
  default: fc.constantFrom('allow', 'deny', 'approve'),
  roles: fc.record({
    reader: fc.array(person, { minLength: 1, maxLength: 3 }),
    writer: fc.array(person, { minLength: 1, maxLength: 2 }),
  }),
  rules: fc
    .array(rule, { minLength: 1, maxLength: 8 })
    .map((rules) => rules.map((one, index) => ({ id: `r${index}`, ...one }))),
})
const calls = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  caller: fc
    .tuple(subjects, fc.record({ groups: fc.array(scalars), level: scalars }, { requiredKeys: [] }))
    .map(([subject, claims]) => aCaller(subject, claims)),
  args: fc.record({ kind: scalars, list: fc.array(scalars) }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>,
})

/** The same decisions, by checking every rule without an index. */
const oracle = {
  verdict(policy: PolicyDefinition, operation: Operation, caller: Caller, args: JsonObject): string {
    const roles = Object.entries(policy.roles ?? {}).flatMap(([name, people]) =>
      people.some((one) => oracle.person(one, caller)) ? [name] : [],
    )
    const effects = (policy.rules ?? [])
      .filter((one) => !one.who || oracle.who(one.who, caller, roles))
      .filter((one) => !one.what || oracle.what(one.what, one.effect, operation))
      .filter((one) => !one.when || oracle.when(one.when, args))
      .map(({ effect }) => effect)
    const strictest = (['deny', 'approve', 'allow'] as const).find((effect) => effects.includes(effect))
    return (strictest ?? policy.default).replace('approve', 'hold')
  },
  who: ({ role, any, ...person }: Who, caller: Caller, roles: readonly string[]): boolean =>
    (!role || [role].flat().some((name) => roles.includes(name))) &&
    (!any || any.some((one) => oracle.who(one, caller, roles))) &&
    oracle.person(person, caller),
  person: ({ subject, claim, ...test }: Person, { subject: name, claims = {} }: Caller): boolean =>
    (!subject || [subject].flat().some((pattern) => fits(pattern, name))) &&
    (!claim || oracle.test(test, claims[claim])),
  what: ({ operation, capability, risk }: What, effect: string, { name, capabilities, risk: level }: Operation) => {
    const covered = (one: string) => [capability ?? []].flat().some((pattern) => fits(pattern, one))
    const some =
      effect === 'allow' ? capabilities.length > 0 && capabilities.every(covered) : capabilities.some(covered)
    const above = risk === 'medium+' ? ['medium', 'high', 'critical'] : [risk]
    return (
      (!operation || fits(String(operation), name.full)) && (!capability || some) && (!risk || above.includes(level))
    )
  },
  when: ({ path = '', all, any, not, ...test }: Condition, args: JsonObject): boolean => {
    if (not) return !oracle.when(not, args)
    if (all) return all.every((one) => oracle.when(one, args))
    return any ? any.some((one) => oracle.when(one, args)) : oracle.test(test, args[path])
  },
  test(test: Condition, value: JsonValue | undefined): boolean {
    if ('equals' in test) return value === test.equals
    if ('in' in test) return (test.in as readonly unknown[]).includes(value)
    if ('includes' in test) return Array.isArray(value) && value.includes(test.includes as JsonValue)
    if ('gt' in test) return typeof value === 'number' && value > Number(test.gt)
    return (value !== undefined) === test.exists
  },
}

function fits(pattern: string, text: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`).test(text)
}

test('the index decides as a check of every rule does', () => {
  fc.assert(
    fc.property(policies, calls, (policy, { operation, caller, args }) => {
      expect(decide(policy, operation, caller, args)?.verdict).toBe(oracle.verdict(policy, operation, caller, args))
    }),
    { numRuns: 2_000 },
  )
})

test('the order of the rules changes nothing, the rule that is named included', () => {
  const shuffled = policies.chain((policy) =>
    fc
      .shuffledSubarray(policy.rules, { minLength: policy.rules.length })
      .map((rules) => [policy, { ...policy, rules }] as const),
  )
  fc.assert(
    fc.property(shuffled, calls, ([policy, other], { operation, caller, args }) => {
      expect(decide(other, operation, caller, args)).toEqual(decide(policy, operation, caller, args))
    }),
    { numRuns: 1_000 },
  )
})

test('one more denial never lets more through', () => {
  const strictness = { allow: 0, hold: 1, deny: 2 }
  fc.assert(
    fc.property(policies, rule, calls, (policy, more, { operation, caller, args }) => {
      const before = decide(policy, operation, caller, args)?.verdict ?? 'allow'
      const denying = { ...policy, rules: [...policy.rules, { ...more, id: 'more', effect: 'deny' }] }

      const after = decide(denying, operation, caller, args)?.verdict ?? 'allow'

      expect(strictness[after]).toBeGreaterThanOrEqual(strictness[before])
    }),
  )
})
