/** Operations under tool names: found by id, version and name, and each name is unique. */
import { expect, test } from 'vitest'
import { operation } from '../../src/core/operation/define.ts'
import type { OperationDefinition, Tombstone } from '../../src/core/operation/operation.ts'
import { createTools } from '../../src/engine/tools.ts'
import { buildRegistry } from '../../src/server/build/operations.ts'

const NOW = Date.UTC(2026, 0, 1)
const LATER = Date.UTC(2027, 0, 1)

function toolsOf(...given: (OperationDefinition | Tombstone)[]) {
  const registry = buildRegistry(given, ({ run = () => {} }) => ({ kind: 'handler', execute: run }))
  return createTools(registry, 'home', ({ media }) => media.length === 0)
}

const define = (name: string, version?: string, sunset?: string) =>
  operation(name, { ...(version && { version }), ...(sunset && { deprecated: { sunset } }), run: () => null })

test('an id without a version is the numerically latest that is still served', () => {
  const tools = toolsOf(define('v1:a.b', '1.9.0'), define('v1:a.b', '1.10.0', '2026-06-01'), define('v1:a.b', '1.2.0'))

  expect(tools.byId('a.b', undefined, NOW)?.version).toBe('1.10.0')
  expect(tools.byId('a.b', undefined, LATER)?.version).toBe('1.9.0')
  expect(tools.byId('a.b', '1.10.0', LATER)).toBeUndefined()
  expect(tools.byId('a.b', '1.2.0', NOW)?.version).toBe('1.2.0')
  expect(tools.byId('a.c', undefined, NOW)).toBeUndefined()
})

test('versions are listed in their order, and a name without a namespace takes the toolkit', () => {
  const tools = toolsOf(define('v2:a.b'), define('v1:a.b'), define('v1:ping'), define('v1:a.b', '1.10.0'))

  expect(tools.versions(NOW).map(({ id, name, operation: { version } }) => [id, name, version])).toEqual([
    ['a.b', 'a_b', '1.0.0'],
    ['a.b', 'a_b', '1.10.0'],
    ['a.b', 'a_b', '2.0.0'],
    ['home.ping', 'home_ping', '1.0.0'],
  ])
})

test('two tools with one name are refused at the start, with both in the message', () => {
  expect(() => toolsOf(define('v1:a-b.c'), define('v1:a_b.c'))).toThrow(/v1:a-b\.c and v1:a_b\.c .* "a_b\.c"/)
  expect(() => toolsOf(define('v1:a.b.c'), define('v1:a_b.c'))).toThrow(/Rename one/)
  expect(() => toolsOf(define('v1:a.b', '2.0.0'), define('v2:a.b'))).toThrow(/v1:a\.b and v2:a\.b .* "a\.b@2\.0\.0"/)
  expect(() => toolsOf(define('v1:a.b_v1'), define('v1:a.b'))).toThrow(/"a_b_v1"/)
})

test('a name too long for a tool is left out and reported once, however often operations come and go', () => {
  const build = (...given: OperationDefinition[]) =>
    buildRegistry(given, ({ run = () => {} }) => ({ kind: 'handler', execute: run }))
  const registry = build(define(`v1:a.${'x'.repeat(58)}`), define(`v1:a.${'y'.repeat(57)}`))
  const reported: string[] = []

  const tools = createTools(
    registry,
    'home',
    () => true,
    ({ operation: { name }, why }) => reported.push(`${name.base[0]}: ${why.code}`),
  )
  registry.replace('later', build(define('v1:b.c')).operations)

  expect(tools.list(NOW).map(({ name }) => name.slice(0, 3))).toEqual(['a_y', 'b_c'])
  expect(reported).toEqual(['x: INVALID_NAME'])
})

test('a toolkit must be a name', () => {
  const registry = buildRegistry([define('v1:ping')], ({ run = () => {} }) => ({ kind: 'handler', execute: run }))

  for (const toolkit of ['', 'a b', 'ä', 'a/b']) {
    expect(() => createTools(registry, toolkit, () => true)).toThrow(/cannot be a toolkit/)
  }
})

test('operations that are added later are found by name, and name conflicts are reported', () => {
  const build = (...given: OperationDefinition[]) =>
    buildRegistry(given, ({ run = () => {} }) => ({ kind: 'handler', execute: run }))
  const registry = build(define('v1:a.b'))
  const tools = createTools(registry, 'home', () => true)
  const later = build(define('v1:a.c'), define('v1:a.b_v1'), define(`v1:a.${'x'.repeat(60)}`)).operations

  const objections = tools.objections(later, registry.operations)
  registry.replace('later', later.slice(0, 1))

  expect(objections.map(({ operation: { name }, why }) => [name.base.slice(0, 4), why.message.slice(0, 60)])).toEqual([
    ['b_v1', 'v1:a.b and v1:a.b_v1 would both be the tool "a_b_v1". Rename'],
    ['xxxx', expect.stringContaining('v1:a.xxxx')],
  ])
  expect(tools.byName('a_c', NOW)?.key).toBe('v1:a.c@1.0.0')
  expect(tools.list(NOW).map(({ name }) => name)).toEqual(['a_b', 'a_c'])
})
