/** What holds for every target: the same bytes for the same registry, and time in proportion to its size. */
import { describe, expect, test, vi } from 'vitest'
import { readCatalogue, TARGETS } from '../../src/codegen/index.ts'
import { growth, PROPORTIONAL } from '../growth.ts'

vi.setConfig({ testTimeout: 60_000 })

const entry = (at: number) => ({
  op: `v${1 + (at % 3)}:n${at % 50}.o${at}`,
  description: `Number ${at}`,
  argsSchema: {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, at: { type: 'integer' } } } },
  },
  resultSchema: { type: 'string', enum: ['a', 'b'] },
  executionModel: at % 5 === 0 ? 'stream' : 'sync',
  frameSchema: { type: 'number' },
  authScopes: ['b', 'a'],
  errors: { FULL: { description: 'full' }, EMPTY: { description: 'empty' } },
})
const entries = (count: number) => Array.from({ length: count }, (_, at) => entry(at))

/** The same JSON with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}

describe.each(Object.entries(TARGETS))('--%s', (_name, { target }) => {
  test('gives the same bytes for the same registry in another order', () => {
    const one = target(readCatalogue({ callVersion: '1', operations: entries(30) }))
    const other = target(readCatalogue(reversed({ callVersion: '1', operations: entries(30).reverse() })))

    expect(other).toEqual(one)
    expect(one.text).toMatch(/[^\n]\n$/)
  })

  test('takes time in proportion to the number of operations', () => {
    expect(growth((count) => void target(readCatalogue({ operations: entries(count) })), 100)).toBeLessThan(
      PROPORTIONAL,
    )
  })

  test('finishes with hostile schemas', () => {
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`p${at}`, { $ref: '#' }]))
    const values = Array.from({ length: 100_000 }, (_, at) => `value ${at}`)
    const same = Array.from({ length: 2_000 }, (_, at) => ({
      op: `v1:a${'.a'.repeat(at % 3)}.${at % 2 ? 'b_' : 'b-'}${at}`,
    }))
    const schemas = [
      { properties: wide },
      { enum: values },
      { anyOf: Array.from({ length: 2_000 }, () => ({ $ref: '#' })) },
      { allOf: [{ $ref: '#' }, { $ref: '#/allOf/0' }], type: 7, required: 'x', properties: [], enum: {}, items: 'no' },
      JSON.parse('{"$ref":"#/__proto__","properties":{"__proto__":{"$ref":"#/properties/__proto__"}},"$defs":null}'),
    ]
    const operations = schemas.map((schema, at) => ({
      op: `v1:hostile${at}`,
      argsSchema: schema,
      resultSchema: schema,
    }))

    const { text } = target(readCatalogue({ operations: [...operations, ...same] }))

    for (const { op } of operations) expect(text).toContain(op.slice(3))
  })
})
