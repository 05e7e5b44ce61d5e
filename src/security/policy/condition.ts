/** Compiles conditions into functions. There are few kinds, so that no condition can loop, fail or take long. */
import { allOf, anyOf, type Clause, type Dimension, noneOf, type Scalar, type Situation } from './clause.ts'
import type { Field } from './field.ts'
import { createPattern, fitsOneOf } from './pattern.ts'
import { parsePath, sameJson, valueAt } from './value.ts'

export const TESTS = [
  'equals',
  'in',
  'includes',
  'matches',
  'lt',
  'lte',
  'gt',
  'gte',
  'exists',
  'length',
  'some',
  'every',
] as const

type TestName = (typeof TESTS)[number]
export type TestFields = Partial<Record<TestName, Field>>
/** Receives `undefined` if there is no value. */
type ValueTest = (value: unknown) => boolean

const LENGTH_TESTS = ['equals', 'lt', 'lte', 'gt', 'gte'] as const
const GROUPS = ['all', 'any', 'not'] as const

/** Parses a condition on the arguments of a call. */
export function parseCondition(field: Field): Clause {
  const { path, all, any, not, ...tests } = field.members(['path', ...GROUPS, ...TESTS])
  const group = onlyGroup(field, { all, any, not })
  if (group?.name === 'not') return noneOf(parseCondition(group.field))
  if (group) return (group.name === 'all' ? allOf : anyOf)(group.field.items().map(parseCondition))
  if (!path) return field.refuse('needs a path into the arguments, such as path: order.amount.')
  return parseTests(path, tests, 'args', ({ args }) => args)
}

/** Parses tests of the value at a path in the arguments or in the claims. */
export function parseTests(
  path: Field,
  tests: TestFields,
  what: string,
  read: (situation: Situation) => unknown,
): Clause {
  const steps = parsePath(path.text())
  const test = parseValueTests(path, tests)
  const keys = keysOf(tests)
  const dimension: Dimension = {
    id: JSON.stringify([what, ...steps]),
    read: (situation) => valueAt(read(situation), steps),
  }
  return {
    holds: (situation) => test(dimension.read(situation)),
    keySets: keys ? [keys.map((value) => ({ dimension, value }))] : [],
    gate: { dimension, passes: test },
  }
}

/** Returns the values that the tested value must equal or include, or `undefined` if they cannot be listed. */
function keysOf({ equals, includes, in: among }: TestFields): Scalar[] | undefined {
  const values = equals ? [equals.value] : includes ? [includes.value] : among ? (among.value as unknown[]) : []
  const scalar = values.every((value): value is Scalar => typeof value !== 'object' || value === null)
  return scalar && values.length > 0 ? values : undefined
}

function parseValueTests(near: Field, tests: TestFields): ValueTest {
  const parsed = Object.entries(tests).map(([name, field]) => PARSERS[name as TestName](field))
  const [only] = parsed
  if (!only) return near.refuse(`needs a test beside it: one of ${TESTS.join(', ')}.`)
  return parsed.length === 1 ? only : (value) => parsed.every((test) => test(value))
}

const PARSERS: Record<TestName, (field: Field) => ValueTest> = {
  equals(field) {
    const expected = field.json()
    return (value) => sameJson(expected, value)
  },
  in(field) {
    const expected = field.items().map((item) => item.json())
    return (value) => expected.some((one) => sameJson(one, value))
  },
  includes(field) {
    const expected = field.json()
    return (value) => Array.isArray(value) && value.some((item) => sameJson(expected, item))
  },
  matches(field) {
    return fitsOneOf(field.oneOrMore().map((one) => createPattern(one.text())))
  },
  lt: (field) => compared(field, (value, limit) => value < limit),
  lte: (field) => compared(field, (value, limit) => value <= limit),
  gt: (field) => compared(field, (value, limit) => value > limit),
  gte: (field) => compared(field, (value, limit) => value >= limit),
  exists(field) {
    const expected = field.flag()
    return (value) => (value !== undefined) === expected
  },
  length(field) {
    const test = parseValueTests(field, field.members(LENGTH_TESTS))
    return (value) => (typeof value === 'string' || Array.isArray(value)) && test(value.length)
  },
  some(field) {
    const test = parseItemCondition(field)
    return (value) => Array.isArray(value) && value.some(test)
  },
  every(field) {
    const test = parseItemCondition(field)
    return (value) => Array.isArray(value) && value.every(test)
  },
}

function compared(field: Field, compare: (value: number, limit: number) => boolean): ValueTest {
  const limit = field.number()
  return (value) => typeof value === 'number' && compare(value, limit)
}

/** Parses a condition on an item of a list. */
function parseItemCondition(field: Field): (item: unknown) => boolean {
  const { path, all, any, not, ...tests } = field.members(['path', ...GROUPS, ...TESTS])
  const group = onlyGroup(field, { all, any, not })
  if (group?.name === 'not') {
    const test = parseItemCondition(group.field)
    return (item) => !test(item)
  }
  if (group) {
    const parts = group.field.items().map(parseItemCondition)
    return group.name === 'all'
      ? (item) => parts.every((test) => test(item))
      : (item) => parts.some((test) => test(item))
  }
  const test = parseValueTests(path ?? field, tests)
  if (!path) return test
  const steps = parsePath(path.text())
  return (item) => test(valueAt(item, steps))
}

/** `all`, `any` and `not` must stand alone: beside other fields their meaning would be ambiguous. */
function onlyGroup(field: Field, groups: Partial<Record<(typeof GROUPS)[number], Field | undefined>>) {
  const [first] = GROUPS.flatMap((name) => (groups[name] ? [{ name, field: groups[name] }] : []))
  if (first && Object.keys(field.named()).length > 1) {
    return field.refuse(`has other fields beside ${first.name}. Put each in an entry of its own under "all".`)
  }
  return first
}
