import { expect, test } from 'vitest'
import { readCatalogue } from '../../src/codegen/index.ts'

const getItem = {
  op: 'v1:orders.getItem',
  argsSchema: { type: 'object', properties: { b: { type: 'string' }, a: { type: 'number' } } },
  resultSchema: true,
  executionModel: 'sync',
  authScopes: ['orders:write', 'orders:read'],
}
const watch = {
  op: 'v2:device.watch',
  argsSchema: {},
  resultSchema: false,
  executionModel: 'stream',
  frameSchema: { type: 'number' },
  supportedTransports: ['wss', 'mqtt'],
  frameIntegrity: true,
}

test('a registry in another order gives the same catalogue', () => {
  const one = readCatalogue({ callVersion: '2026-02-10', operations: [getItem, watch] })
  const reversed = {
    ...getItem,
    argsSchema: { properties: { a: { type: 'number' }, b: { type: 'string' } }, type: 'object' },
  }
  const other = readCatalogue({ operations: [watch, reversed], callVersion: '2026-02-10' })

  expect(JSON.stringify(other)).toBe(JSON.stringify(one))
  expect(one.operations.map(({ name }) => name)).toEqual(['v2:device.watch', 'v1:orders.getItem'])
  expect(one.operations[1]).toMatchObject({
    lineage: 'orders.getItem',
    major: 1,
    scopes: ['orders:read', 'orders:write'],
  })
  expect(one.operations[0]).toMatchObject({
    result: { not: {} },
    stream: { frame: { type: 'number' }, transports: ['wss', 'mqtt'], encodings: ['json'], integrity: true },
  })
})

test('what cannot be called is left out, and what cannot be read is reported', () => {
  let deep: object = {}
  for (let level = 0; level < 100_000; level++) deep = { not: deep }
  const { operations, problems } = readCatalogue({
    operations: [
      getItem,
      { ...getItem, description: 'a second one' },
      { op: 'v1:gone', removed: true },
      { op: 'orders.getItem' },
      { op: '__proto__' },
      'text',
      { op: 'v1:deep', argsSchema: deep },
    ],
  })

  expect(operations.map(({ name }) => name)).toEqual(['v1:orders.getItem'])
  expect(problems).toHaveLength(5)
  expect(problems.join('\n')).toContain('v1:deep is left out: a schema is nested deeper than 200 levels.')
})

test('a document without operations is refused', () => {
  for (const document of [null, [], 'html', {}, { operations: {} }]) {
    expect(() => readCatalogue(document)).toThrow('/.well-known/ops')
  }
})

test('a key __proto__ of a schema stays a key', () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"}}')
  const { operations } = readCatalogue({ operations: [{ op: 'v1:a', argsSchema: { properties } }] })

  expect(JSON.stringify(operations[0]?.args)).toBe('{"properties":{"__proto__":{"type":"string"}}}')
})

test('declared errors are read by code, in any form', () => {
  const { operations } = readCatalogue({
    operations: [
      { op: 'v1:a', errors: { B: { description: 'b', retryable: true }, A: { remedy: 'a' } } },
      { op: 'v1:b', errors: ['B', { code: 'A' }, 7, 'B'] },
      { op: 'v1:c', errors: 'none' },
    ],
  })

  expect(operations.map(({ errors }) => errors)).toEqual([
    [
      { code: 'A', remedy: 'a', retryable: false },
      { code: 'B', description: 'b', retryable: true },
    ],
    [
      { code: 'A', retryable: false },
      { code: 'B', retryable: false },
    ],
    [],
  ])
})
