/** Calls that wait for their caller's replies: with cancels, deadlines, restarts and late replies. */
import { expect, test } from 'vitest'
import type { Asking } from '../../src/core/call/questions.ts'
import { operation } from '../../src/index.ts'
import { ADA, Node, openCluster, settled } from './node.ts'

const SURE = { kind: 'form' as const, message: 'Sure?', schema: { type: 'object', required: ['sure'] } }
const YES = { action: 'accept', content: { sure: true } }
const FORMS: Asking = { kinds: ['form'], answers: {}, waits: true }

const asks = operation('v1:it.asks', {
  model: 'async',
  deadlineMs: 700,
  run: (_, ctx) => ctx.ask({ sure: SURE }),
})

test('a cancel that comes while the question is being written down is not lost', async () => {
  const cluster = openCluster()
  const canceled = operation('v1:it.isCanceled', {
    model: 'async',
    async run(_, ctx) {
      await cluster.store.requestStop(ctx.key)
      return ctx.ask({ sure: SURE })
    },
  })
  const node = new Node(cluster, { operations: [canceled] })
  const { requestId } = await node.call('v1:it.isCanceled', {}, { asking: FORMS })
  const { id } = await cluster.find(requestId)
  const { outcome } = await cluster.ended(id)
  expect(outcome).toMatchObject({ fault: { kind: 'canceled' } })
})

test('the deadline runs while a call waits for answers', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [asks] })
  const { requestId } = await node.call('v1:it.asks', {}, { asking: FORMS })
  const { id } = await cluster.find(requestId)
  await cluster.until(id, ({ extras }) => extras?.asking?.questions !== undefined)
  await settled()
  cluster.clock.advance(701)
  const { outcome } = await cluster.ended(id)
  expect(outcome).toMatchObject({ fault: { kind: 'timeout' } })
})

test('an answer whose sender was interrupted before the call continued is found by the next poll', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [asks] })
  const { requestId } = await node.call('v1:it.asks', {}, { asking: FORMS })
  const { id } = await cluster.find(requestId)
  const { attempt } = await cluster.until(id, ({ extras }) => extras?.asking?.questions !== undefined)
  await cluster.store.records.add(`answers/${id}/${attempt}/sure`, JSON.stringify(YES))
  await node.followUp.questions(ADA, requestId)
  const { outcome } = await cluster.ended(id)
  expect(outcome).toMatchObject({ kind: 'result', value: { sure: YES } })
})

test('a call whose caller cannot be asked such a thing ends instead of waiting', async () => {
  const cluster = openCluster()
  const node = new Node(cluster, { operations: [asks] })
  const { requestId } = await node.call('v1:it.asks', {}, { asking: { ...FORMS, kinds: ['roots'] } })
  const { outcome } = await cluster.ended((await cluster.find(requestId)).id)
  expect(outcome).toMatchObject({ fault: { kind: 'requirements-missing', code: 'INPUT_REQUIRED' } })
})

test('an invalid question, or a question with an invalid schema, is a failure of the handler', async () => {
  const cluster = openCluster()
  const unfit = operation('v1:it.isUnfit', {
    run: (_, ctx) => ctx.ask({ sure: { ...SURE, schema: { type: 'bool' } } }),
  })
  const odd = operation('v1:it.isOdd', { run: (_, ctx) => ctx.ask({ sure: { kind: 'riddle' } as never }) })
  const node = new Node(cluster, { operations: [unfit, odd] })
  for (const name of ['v1:it.isUnfit', 'v1:it.isOdd']) {
    expect(await node.call(name, {}, { asking: FORMS })).toMatchObject({ state: 'error', fault: { kind: 'internal' } })
  }
})

test('an attempt that ends with a question is not a failed try, and observers do not see it as a failure', async () => {
  const cluster = openCluster()
  const endings: unknown[] = []
  const observer = {
    attemptStarted: () => ({
      within: <T>(run: () => T) => run(),
      ended: (outcome: unknown) => void endings.push(outcome),
    }),
  }
  const retried = operation('v1:it.retries', {
    model: 'async',
    retry: { attempts: 3, backoffMs: 1 },
    run: (_, ctx) => ctx.ask({ sure: SURE }),
  })
  const node = new Node(cluster, { operations: [retried], observer })
  const { requestId } = await node.call('v1:it.retries', {}, { asking: FORMS })
  const { id } = await cluster.find(requestId)
  await cluster.until(id, ({ extras }) => extras?.asking?.questions !== undefined)
  await node.followUp.answer(ADA, requestId, { sure: YES })
  const { failures } = await cluster.ended(id)
  expect(failures).toBe(0)
  expect(endings).toEqual([undefined, { kind: 'result', value: { sure: YES } }])
})
