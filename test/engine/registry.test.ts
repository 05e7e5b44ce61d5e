/** The registry finds operations by name, and the start reports operations that cannot work. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { operation, removed } from '../../src/core/operation/define.ts'
import type { OperationDefinition, Tombstone } from '../../src/core/operation/operation.ts'
import { buildRegistry } from '../../src/server/build/operations.ts'
import { verifies } from '../requirements.ts'

const NOW = Date.UTC(2026, 0, 1)

function registryOf(...given: (OperationDefinition | Tombstone)[]) {
  return buildRegistry(given, ({ run = () => {} }) => ({ kind: 'handler', execute: run }))
}

const define = (
  name: string,
  rules: { version?: string; deprecated?: { sunset: string; replacement?: string } } = {},
) => operation(name, { ...rules, run: () => null })

test('a name runs the highest version under it, and every version is found by its key', () => {
  const registry = registryOf(
    define('v1:greet', { version: '1.9.0' }),
    define('v1:greet', { version: '1.10.0' }),
    define('v1:greet', { version: '0.1.0' }),
    define('v2:greet'),
  )

  expect(registry.resolve('v1:greet', NOW).version).toBe('1.10.0')
  expect(registry.resolve('v2:greet', NOW).version).toBe('2.0.0')
  expect(registry.byKey('v1:greet@0.1.0')?.version).toBe('0.1.0')
  expect(registry.list(NOW).map(({ key }) => key)).toEqual(['v1:greet@1.10.0', 'v2:greet@2.0.0'])
  expect(registry.keys).toHaveLength(4)
})

test('the same name and version twice is refused', () => {
  expect(() => registryOf(define('v1:greet'), define('v1:greet'))).toThrow('v1:greet@1.0.0 is defined twice')
})

test('in any order of declaration, a name runs its highest version, and no version replaces another', () => {
  verifies('opencall:013')
  const version = fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12))
  const declared = fc
    .uniqueArray(fc.tuple(fc.constantFrom(2, 3, 10), version), { selector: String, maxLength: 10 })
    .map((later): Declared[] => [[1, [0, 9, 0]], ...later])
    .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
  fc.assert(
    fc.property(declared, (all) => {
      const registry = registryOf(...all.map(([major, own]) => define(`v${major}:greet`, { version: own.join('.') })))

      for (const major of [1, 2, 3, 10, 11]) {
        const own = all.filter((each) => each[0] === major).map((each) => each[1])
        const highest = own.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).at(-1)
        const resolve = () => registry.resolve(`v${major}:greet`, NOW).key
        if (highest) expect(resolve()).toBe(`v${major}:greet@${highest.join('.')}`)
        else expect(resolve).toThrow(`There is no operation "v${major}:greet"`)
      }
    }),
  )
})

type Declared = [major: number, version: [number, number, number]]

test('a lineage that does not start at v1 is refused, unless its v1 is known to be gone', () => {
  verifies('opencall:014')

  expect(() => registryOf(define('v2:greet'))).toThrow(/v2:greet has no v1.*removed\('v1:greet'/)
  const registry = registryOf(define('v3:greet'), removed('v1:greet', { on: '2025-01-01', replacement: 'v3:greet' }))
  expect(() => registry.resolve('v1:greet', NOW)).toThrow('v1:greet was removed on 2025-01-01. Use v3:greet instead.')
  expect(() => registry.resolve('v2:greet', NOW)).toThrow('There is no operation "v2:greet"')
})

test('an operation that is both there and gone is refused', () => {
  expect(() => registryOf(define('v1:greet'), removed('v1:greet', { on: '2025-01-01' }))).toThrow(/both defined and/)
})

test('a sunset takes an operation off the list with the end of its day, and its open calls can still be run', () => {
  const registry = registryOf(define('v1:old', { deprecated: { sunset: '2026-01-01' } }), define('v1:new'))
  const midnight = Date.UTC(2026, 0, 2)

  expect(registry.list(midnight - 1)).toHaveLength(2)
  expect(registry.resolve('v1:old', midnight - 1).name.full).toBe('v1:old')
  expect(registry.nextChangeAt(NOW)).toBe(midnight)
  expect(registry.list(midnight).map(({ name }) => name.full)).toEqual(['v1:new'])
  expect(() => registry.resolve('v1:old', midnight)).toThrow(/was removed on 2026-01-01/)
  expect(registry.nextChangeAt(midnight)).toBe(undefined)
  expect(registry.byKey('v1:old@1.0.0')).toBeDefined()
})

test.each([
  ['an async operation whose result cannot be fetched', { model: 'async', ttlSeconds: 0 }, /needs ttlSeconds above 0/],
  [
    'a cache over side effects',
    { sideEffecting: true, cache: { policy: 'server', ttlSeconds: 1 } },
    /without side effects/,
  ],
  ['a retry that never starts', { retry: { attempts: 0 } }, /retry\.attempts/],
  ['a time limit of nothing', { timeoutMs: 0 }, /timeoutMs must be/],
  ['a sunset that is no date', { deprecated: { sunset: '2026-02-30' } }, /is not a date/],
  ['a public operation with scopes', { public: true, scopes: ['a'] }, /cannot require scopes/],
  ['a sync operation with chunks', { model: 'sync', chunked: { mimeType: 'text/csv' } }, /needs model "async"/],
  ['a version that is none', { version: '1.0' }, /not a full version/],
] as const)('%s is refused at start', (_what, rules, message) => {
  expect(() => registryOf(operation('v1:odd', { ...rules, run: () => [] }))).toThrow(message)
})

test('the operations of a source replace its earlier ones, and no others', () => {
  const registry = registryOf(define('v1:own'), removed('v1:gone', { on: '2025-01-01' }))
  const brought = (...names: string[]) => registryOf(...names.map((name) => define(name))).operations
  const before = registry.operations

  registry.replace('a', brought('v1:a.one', 'v1:a.two'))
  const omissions = registry.replace('b', [...brought('v1:own', 'v1:b.one'), ...brought('v1:gone', 'v1:a.one')])
  registry.replace('a', brought('v1:a.two'))

  expect(omissions.map(({ why }) => why.message)).toEqual([
    'v1:own@1.0.0 is defined twice.',
    'v1:gone is both defined and listed as removed; keep one of the two.',
    'v1:a.one@1.0.0 is defined twice.',
  ])
  expect(registry.list(NOW).map(({ name }) => name.full)).toEqual(['v1:own', 'v1:b.one', 'v1:a.two'])
  expect(registry.operations).not.toBe(before)
  expect(() => registry.resolve('v1:a.one', NOW)).toThrow('There is no operation "v1:a.one"')
  expect(registry.keys).toEqual(['v1:own@1.0.0', 'v1:b.one@1.0.0', 'v1:a.two@1.0.0'])
})

test('calls of a removed version are run by its successor, even after other changes', () => {
  const registry = registryOf(define('v1:own', { version: '1.1.0' }))
  expect(registry.inherit('v1:own@1.0.0')).toBe(true)

  registry.replace('a', registryOf(define('v1:a.one')).operations)

  expect(registry.byKey('v1:own@1.0.0')?.version).toBe('1.1.0')
  expect(registry.operations).toHaveLength(2)
})
