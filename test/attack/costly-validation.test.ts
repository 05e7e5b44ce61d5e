/** The validation cost that a client can cause over HTTP without a credential. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Child, startChild } from './child.ts'

let server: Child
beforeAll(async () => {
  server = await startChild('costly-server.ts')
}, 60_000)
afterAll(() => server.stop())

const validate = (tool: string, args: unknown) => server.post(`/tools/${tool}/validate`, args)

function nested(levels: number): unknown {
  return levels === 0 ? {} : { and: [nested(levels - 1)] }
}

function kids(levels: number): unknown {
  return { kids: levels === 0 ? [] : [kids(levels - 1)] }
}

const list = (count: number, item: (at: number) => unknown) => ({
  list: Array.from({ length: count }, (_, at) => item(at)),
})
const evil = (length: number) => ({ text: `${'a'.repeat(length)}!` })

const ATTACKS: [tool: string, what: string, args: unknown][] = [
  ['plain_rules', '14 nested levels of alternatives', { rule: nested(14) }],
  ['plain_rules', '28 nested levels of alternatives', { rule: nested(28) }],
  ['plain_rules', 'many shallow values', { rule: { and: Array.from({ length: 20_000 }, () => nested(3)) } }],
  ['plain_either', 'alternatives that differ below their children', { tree: kids(28) }],
  ['plain_doubling', 'a schema of doubling references', { n: 1 }],
  ['plain_pattern', 'a pattern that doubles with each character', evil(60)],
  ['plain_looking', 'the same within a condition', evil(60)],
  ['plain_names', 'a name for such a pattern', { [`${'a'.repeat(60)}!`]: 1 }],
  ['plain_url', 'a text of colons as a URL', { text: `http://${':'.repeat(500_000)}` }],
  ['plain_contains', 'a list of which no item fits any alternative', list(400_000, () => 0)],
  ['zod_points', 'a library that names a million problems', list(340_000, () => ({}))],
  ['zod_pattern', "a library's pattern", evil(60)],
  ['valibot_pattern', "another library's pattern", evil(60)],
  ['zod_either', "a library's nested alternatives", { tree: kids(28) }],
]

/** Beside other processes, the collector gets its turn late: 730 MB were seen. */
const MOST_MB = 1_000

describe('a request that would take for ever', () => {
  test.each(ATTACKS)('is refused within its budget: %s, %s', { timeout: 60_000 }, async (tool, _what, args) => {
    const { status, json } = await validate(tool, args)

    expect(status).toBe(200)
    expect(json).toMatchObject({
      valid: false,
      errors: expect.arrayContaining([expect.objectContaining({ message: expect.any(String) })]),
    })
  })

  test('leaves the server alive and its memory small', async () => {
    expect(await validate('plain_pattern', { text: 'aaa' })).toMatchObject({ json: { valid: true } })
    expect(await server.peakMb()).toBeLessThan(MOST_MB)
  })

  test('is refused as a call as well, and says so in a code', async () => {
    const { status, json } = await server.post('/call', { op: 'v1:plain.either', args: { tree: kids(28) } })

    expect(status).toBe(400)
    expect(json).toMatchObject({ error: { code: 'VALIDATION_TOO_COSTLY' } })
  })

  test('does not come as a result either', { timeout: 60_000 }, async () => {
    const { json } = await server.post('/call', { op: 'v1:result.pattern', args: evil(60) })

    expect(json).toMatchObject({ error: { code: 'PANIC_INVALID_RESULT' } })
  })
})

test('a tool of another server cannot hang this one by its schema', { timeout: 60_000 }, async () => {
  const { json } = await server.post('/call', { op: 'v1:hostile.hang', args: {} })

  expect(json).toMatchObject({ state: 'error', error: { code: expect.stringContaining('INVALID_RESULT') } })
})

/** Of twice the input, in processor time of the server; below a few milliseconds it is noise. */
async function growthFrom(small: () => Promise<unknown>, large: () => Promise<unknown>): Promise<number> {
  await small()
  const first = await server.costOf(small)
  return (await server.costOf(large)) / Math.max(first, 5)
}

describe('the cost of a check grows with the input', () => {
  test.each<[string, (n: number) => unknown, number]>([
    ['plain_unique', (n) => list(n, (at) => ({ at })), 5_000],
    ['plain_unique', (n) => list(n, (at) => [at % 7 === 0 ? { b: at, a: 1 } : at]), 5_000],
    ['plain_contains', (n) => list(n, () => 0), 50_000],
    ['plain_rules', (n) => ({ rule: { and: Array.from({ length: n }, () => nested(2)) } }), 1_000],
    ['plain_url', (n) => ({ text: `http://${'@a.bc'.repeat(n)} ` }), 10_000],
    ['zod_points', (n) => list(n, () => ({})), 5_000],
  ])('of %s', { timeout: 60_000 }, async (tool, make, size) => {
    const [small, large] = [make(size), make(8 * size)]

    // Eight times the input: 64 would be the square.
    expect(
      await growthFrom(
        () => validate(tool, small),
        () => validate(tool, large),
      ),
    ).toBeLessThan(32)
  })
})

/** Each of these is valid, and took 4 s or more, or never ended. */
const WIDE: [tool: string, args: unknown][] = [
  ['plain_enum', list(70_000, () => 'value4999')],
  ['plain_kinds300', list(60_000, () => ({ kind: 'k299' }))],
  ['plain_one300', list(60_000, () => ({ kind: 'k299' }))],
  ['plain_kinds5000', list(50_000, () => ({ kind: 'k4999' }))],
]

test.each(WIDE)(
  'a megabyte against many alternatives is soon accepted or refused: %s',
  { timeout: 60_000 },
  async (tool, args) => {
    // The first value compiles the schema.
    expect(await validate(tool, { list: [] })).toMatchObject({ json: { valid: true } })

    // Time of the processor; the bound leaves room for parsing, and for slower machines.
    expect(await server.costOf(() => validate(tool, args))).toBeLessThan(1_500)
    expect(await server.peakMb()).toBeLessThan(MOST_MB)
  },
)

function term(levels: number): unknown {
  return levels === 0 ? 1 : { left: term(levels - 1), right: 1, op: 'mul' }
}

function chain(levels: number): unknown {
  return levels === 0 ? null : { a: chain(levels - 1) }
}

test.each<[tool: string, args: unknown]>([
  ['plain_chains', { chain: chain(12) }],
  ['plain_terms', { term: term(12) }],
  ['plain_kinds300', list(100, (at) => ({ kind: `k${3 * at}` }))],
  ['plain_kinds5000', list(2, (at) => ({ kind: `k${4_999 * at}` }))],
  ['plain_enum', list(70_000, (at) => `value${at % 5_000}`)],
])('honest input passes where alternatives are many or nested: %s', { timeout: 60_000 }, async (tool, args) => {
  expect(await validate(tool, args)).toMatchObject({ json: { valid: true } })
})

test('large honest input passes', { timeout: 60_000 }, async () => {
  const points = list(25_000, (at) => ({ x: at, y: at, z: at }))
  const rule = { and: Array.from({ length: 500 }, (_, at) => ({ is: at, and: [{ is: 1 }] })) }

  expect(await validate('zod_points', points)).toMatchObject({ json: { valid: true } })
  expect(await validate('plain_rules', { rule })).toMatchObject({ json: { valid: true } })
  expect(
    await validate(
      'plain_unique',
      list(40_000, (at) => ({ at })),
    ),
  ).toMatchObject({ json: { valid: true } })
})
