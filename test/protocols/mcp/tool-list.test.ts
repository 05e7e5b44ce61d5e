/** The tool list is encoded once, for any number of tools, and again when the registry changes. */
import { expect, test } from 'vitest'
import type { Operation } from '../../../src/core/operation/operation.ts'
import type { Tools } from '../../../src/core/ports/catalog.ts'
import type { Registry } from '../../../src/engine/registry.ts'
import { createToolList, type ListReader } from '../../../src/protocols/mcp/tools/list.ts'

const KNOWN: ListReader = { generation: 'stateless', audience: 'known', tasks: false }

function fixture(count: number) {
  const operation = {
    description: 'Some tool.',
    schemas: { args: { type: 'object' }, result: { type: 'number' } },
    media: [],
    capabilities: [],
    sideEffecting: false,
    public: false,
  } as unknown as Operation
  const seen = { listings: 0 }
  const registry = { operations: [operation], nextChangeAt: () => 1_000 } as unknown as Registry
  const listed = Array.from({ length: count }, (_, at) => ({ id: `many.tool${at}`, name: `many_tool${at}`, operation }))
  const list = () => {
    seen.listings++
    return listed
  }
  return { registry, tools: { list } as unknown as Tools, seen }
}

test('ten thousand tools are written once for each generation', () => {
  const { registry, tools, seen } = fixture(10_000)
  const list = createToolList(registry, tools, 'public')
  const first = list.written(KNOWN, 0)
  expect(JSON.parse(first.text).tools).toHaveLength(10_000)
  for (let at = 0; at < 100; at++) expect(list.written(KNOWN, at) === first).toBe(true)
  expect(seen.listings).toBe(1)
  list.written({ ...KNOWN, generation: 'initialized' }, 0)
  expect(seen.listings).toBe(2)
})

test('the list is built again when a tool is added or passes its sunset', () => {
  const { registry, tools, seen } = fixture(1)
  const list = createToolList(registry, tools, 'public')
  list.written(KNOWN, 0)
  list.written(KNOWN, 1_000)
  expect(seen.listings).toBe(2)
  Object.assign(registry, { operations: [...registry.operations] })
  list.written(KNOWN, 0)
  expect(seen.listings).toBe(3)
})

test('a caller without a credential sees only public tools', () => {
  const { registry, tools } = fixture(3)
  const list = createToolList(registry, tools, 'private')
  expect(JSON.parse(list.written({ ...KNOWN, audience: 'everybody' }, 0).text)).toEqual({
    resultType: 'complete',
    tools: [],
    ttlMs: 60_000,
    cacheScope: 'private',
  })
})
