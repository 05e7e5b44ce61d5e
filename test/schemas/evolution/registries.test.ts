/** Operations that come or go, their error codes, and the same shape in other words. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import { compareRegistries } from '../../../src/schemas/evolution/registries.ts'
import { verifies } from '../../requirements.ts'
import { args, changesOf, edited, entry, registry, TODAY } from './orders.ts'

it('a declared error code may come, but may not go or change its name', () => {
  const declared = (...codes: string[]) => ({
    ...entry,
    errors: Object.fromEntries(codes.map((code) => [code, { description: 'Why.', retryable: false }])),
  })

  const added = changesOf(declared('SOLD_OUT', 'CLOSED'), declared('SOLD_OUT'))
  const renamed = changesOf(declared('CLOSED'), declared('SOLD_OUT'))
  const reworded = changesOf(
    { ...entry, errors: { SOLD_OUT: { description: 'No seat is left.', retryable: true } } },
    declared('SOLD_OUT'),
  )

  expect(added).toMatchObject([{ path: '/errors/CLOSED', kind: 'safe' }])
  expect(renamed).toMatchObject([
    { path: '/errors/SOLD_OUT', kind: 'breaking', message: 'error code was removed' },
    { path: '/errors/CLOSED', kind: 'safe' },
  ])
  expect(reworded).toEqual([])
})

it('the same shape written with other references is no change', () => {
  const inline = edited(`${args}/lines/items`, { $ref: '#/$defs/row', description: 'One line' })
  const schema = inline.argsSchema as { $defs: JsonObject }
  schema.$defs = { row: JSON.parse(JSON.stringify(schema.$defs.line).replace('#/$defs/line', '#/$defs/row')) }

  expect(changesOf(inline)).toEqual([])
})

it('a place in a list that is described like all others is no change', () => {
  const lines = { type: 'array', maxItems: 9, prefixItems: [{ $ref: '#/$defs/line' }], items: { $ref: '#/$defs/line' } }

  expect(changesOf(edited(`${args}/lines`, lines))).toEqual([])
})

describe('an operation that comes or goes', () => {
  const deprecated = { ...entry, deprecated: true, sunset: '2026-06-14', replacement: 'v2:orders.place' }

  it('may come, as a new version beside the old one', () => {
    verifies('opencall:230')
    const next = { ...entry, op: 'v2:orders.place', executionModel: 'sync' }
    const old = { ...entry, deprecated: true, sunset: '2026-12-01', replacement: 'v2:orders.place' }

    const changes = compareRegistries(registry(entry), registry(old, next), TODAY)

    expect(changes.map(({ op, kind }) => [op, kind])).toEqual([
      ['v1:orders.place', 'safe'],
      ['v2:orders.place', 'safe'],
    ])
  })

  it.each([
    ['before its sunset was ever named', entry, 'breaking'],
    ['on its sunset day', { ...deprecated, sunset: TODAY }, 'breaking'],
    ['the day after its sunset', deprecated, 'safe'],
  ])('that goes %s', (_when, before, kind) => {
    const changes = compareRegistries(registry(before), registry(), TODAY)

    expect(changes).toMatchObject([{ op: 'v1:orders.place', path: '', kind }])
  })

  it('may not bring its sunset forward', () => {
    expect(changesOf({ ...deprecated, sunset: '2026-06-01' }, deprecated)).toMatchObject([
      { path: '/sunset', kind: 'breaking' },
    ])
    expect(changesOf({ ...deprecated, sunset: '2026-09-01' }, deprecated)).toMatchObject([
      { path: '/sunset', kind: 'safe' },
    ])
  })
})

it('says what to pass if a document is not a registry', () => {
  expect(() => compareRegistries({}, registry(), TODAY)).toThrow('/.well-known/ops')
  expect(() => compareRegistries(registry(), { operations: [{}] }, TODAY)).toThrow('/operations/0')
})
