/** Parses which callers a rule or a role matches. */
import { allOf, anyOf, type Clause, type Dimension, type Key } from './clause.ts'
import { parseTests, TESTS } from './condition.ts'
import type { Field } from './field.ts'
import { createPattern, fitsOneOf, type Pattern } from './pattern.ts'

const PERSON = ['subject', 'issuer', 'tenant', 'claim', ...TESTS] as const
const ROLE: Dimension = { id: 'role', read: ({ roles }) => roles }

/** `roles` are the names that the policy defines. */
export function parseWho(field: Field, roles: readonly string[]): Clause {
  const { role, any, ...person } = field.members([...PERSON, 'role', 'any'])
  const clauses = personClauses(field, person)
  if (role) clauses.push(parseRole(role, roles))
  if (any) clauses.push(anyOf(any.items().map((one) => parseWho(one, roles))))
  return allOf(clauses)
}

export function parsePerson(field: Field): Clause {
  return allOf(personClauses(field, field.members(PERSON)))
}

function personClauses(field: Field, members: Partial<Record<(typeof PERSON)[number], Field>>): Clause[] {
  const { subject, issuer, tenant, claim, ...tests } = members
  const clauses: Clause[] = []
  if (subject) clauses.push(parseNames(subject, 'subject'))
  if (claim) clauses.push(parseTests(claim, tests, 'claim', ({ caller }) => caller.claims))
  else if (Object.keys(tests).length > 0) field.refuse('has a test but no claim to apply it to. Add claim: <name>.')
  if (issuer) clauses.push(parseNames(issuer, 'issuer'))
  if (tenant) clauses.push(parseNames(tenant, 'tenant'))
  return clauses
}

function parseNames(field: Field, what: 'subject' | 'issuer' | 'tenant'): Clause {
  const patterns = field.oneOrMore().map((one) => createPattern(one.text()))
  const dimension: Dimension = { id: what, read: ({ caller }) => caller[what] }
  const passes = fitsOneOf(patterns)
  const keyOf = ({ literal, prefix }: Pattern): Key[] => {
    if (literal !== undefined) return [{ dimension, value: literal }]
    return prefix === '' ? [] : [{ dimension: beginningOf(what, prefix.length), value: prefix }]
  }
  const keys = patterns.flatMap(keyOf)
  return {
    holds: ({ caller }) => passes(caller[what]),
    keySets: keys.length === patterns.length ? [keys] : [],
    gate: { dimension, passes },
  }
}

/** Indexes patterns by their prefix: one lookup per prefix length instead of one test per pattern. */
function beginningOf(what: 'subject' | 'issuer' | 'tenant', length: number): Dimension {
  return { id: `${what}:${length}`, read: ({ caller }) => caller[what].slice(0, length) }
}

function parseRole(field: Field, defined: readonly string[]): Clause {
  const names = field.oneOrMore().map((one) => {
    const name = one.text()
    if (defined.includes(name)) return name
    return one.refuse(`is not a role of this policy${defined.length > 0 ? `. Use one of ${defined.join(', ')}` : ''}.`)
  })
  return {
    holds: ({ roles }) => names.some((name) => roles.includes(name)),
    keySets: [names.map((value) => ({ dimension: ROLE, value }))],
  }
}
