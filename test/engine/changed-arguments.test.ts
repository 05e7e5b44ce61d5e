/** A handler that changes its arguments in place changes neither what is stored nor what a later attempt gets. */
import { expect, test } from 'vitest'
import { copyJson } from '../../src/core/json.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import type { Observer } from '../../src/core/ports/observer.ts'
import { Node, openCluster } from './node.ts'

const ARGS = { list: [1], deep: { name: 'as sent' } }

/** A plain JSON Schema without defaults: the validated value is the value itself. */
const SCHEMA = { type: 'object', properties: { list: { type: 'array' }, deep: { type: 'object' } } }

function spoil(args: object): void {
  const { list, deep } = args as typeof ARGS
  list.push(2)
  deep.name = 'changed'
}

function failsTwice(rules: Pick<OperationRules, 'model' | 'sideEffecting' | 'idempotencyRequired'>) {
  const seen: unknown[] = []
  const work = operation('v1:work', {
    ...rules,
    args: SCHEMA,
    retry: { attempts: 3, backoffMs: 0 },
    run(args, ctx) {
      seen.push(copyJson(args))
      spoil(args)
      if (ctx.attempt < 3) ctx.fail('NOT_YET', 'Not yet.', { retryable: true })
      return null
    },
  })
  return { work, seen }
}

test.each([
  ['unrecorded', {}],
  ['recorded', { sideEffecting: true, idempotencyRequired: false }],
  ['async', { model: 'async' as const }],
])('%s: every attempt gets the arguments as they were sent', async (_way, rules) => {
  const cluster = openCluster()
  const { work, seen } = failsTwice(rules)
  const node = new Node(cluster, { operations: [work] })

  const replying = node.call('v1:work', copyJson(ARGS))
  await expect
    .poll(() => {
      cluster.clock.advance(10)
      return seen.length
    })
    .toBe(3)
  await replying

  expect(seen).toEqual([ARGS, ARGS, ARGS])
})

test('a call that outlasts the wait is recorded with the arguments as they were sent', async () => {
  const cluster = openCluster()
  const gate = Promise.withResolvers<null>()
  const work = operation('v1:work', {
    args: SCHEMA,
    maxSyncMs: 50,
    run(args) {
      spoil(args)
      return gate.promise
    },
  })
  const node = new Node(cluster, { operations: [work] })

  const replying = node.call('v1:work', copyJson(ARGS))
  await expect
    .poll(async () => {
      cluster.clock.advance(60)
      return (await cluster.store.find('main', 'test|ada', 'r1'))?.args
    })
    .toEqual(ARGS)
  await replying
  gate.resolve(null)
  await cluster.ended((await cluster.find('r1')).id)
})

test('a handler that returned at once before, and now does not, gets a copy as well', async () => {
  const cluster = openCluster()
  const gate = Promise.withResolvers<null>()
  let isSlow = false
  const work = operation('v1:work', {
    args: SCHEMA,
    maxSyncMs: 50,
    run(args) {
      spoil(args)
      return isSlow ? gate.promise : null
    },
  })
  const node = new Node(cluster, { operations: [work] })
  await node.call('v1:work', copyJson(ARGS), { requestId: 'first' })
  await node.call('v1:work', copyJson(ARGS), { requestId: 'second' })
  isSlow = true

  const replying = node.call('v1:work', copyJson(ARGS), { requestId: 'third' })
  cluster.clock.advance(60)
  await replying

  expect((await cluster.find('third')).args).toEqual(ARGS)
  gate.resolve(null)
  await cluster.ended((await cluster.find('third')).id)
})

test('the log of executions has the fingerprint of the arguments as they were sent', async () => {
  const fingerprints: string[] = []
  const work = operation('v1:work', { args: SCHEMA, run: (args) => spoil(args) })
  const observer: Observer = { executedUnrecorded: (_operation, { entry }) => fingerprints.push(entry.fingerprint) }
  const node = new Node(openCluster(), { operations: [work], observer })

  for (const requestId of ['first', 'second']) await node.call('v1:work', copyJson(ARGS), { requestId })

  expect(fingerprints).toHaveLength(2)
  expect(new Set(fingerprints).size).toBe(1)
})

test('a copy keeps a key that would set a prototype, so that it is refused as before', () => {
  const copy = copyJson(JSON.parse('{"a":{"__proto__":{"b":1}}}'))

  expect(JSON.stringify(copy)).toBe('{"a":{"__proto__":{"b":1}}}')
  expect(Object.getPrototypeOf(copy.a)).toBe(Object.prototype)
})
