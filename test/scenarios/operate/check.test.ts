/** A check foresees what a call gets. It runs nothing, writes nothing and contacts nothing. */
import { createServer as createHttpServer } from 'node:http'
import { createToken, operation, type PolicyDefinition } from 'callplane'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Check } from '../../../src/engine/admin/calls/check.ts'
import { onlyOne, openDesk, PEOPLE } from '../approving.ts'
import { oxpClient } from '../oxp.ts'
import { type Answered, startSite } from '../server.ts'

const CHECK = 'v1:callplane.calls.check'

const resultOf = ({ body }: Answered): Check => {
  expect(body.error).toBeUndefined()
  return body.result as unknown as Check
}

const policy: PolicyDefinition = {
  default: 'allow',
  rules: [
    { id: 'large', effect: 'approve', what: { operation: 'v1:orders.*' }, when: { path: 'amount', gt: 100 } },
    { id: 'huge', effect: 'deny', what: { operation: 'v1:orders.*' }, when: { path: 'amount', gt: 1_000 } },
  ],
}

function orders(ran: unknown[]) {
  const args = { type: 'object', required: ['amount'], properties: { amount: { type: 'number', maximum: 5_000 } } }
  const run = (given: unknown) => {
    ran.push(given)
    return { done: true }
  }
  return [
    operation('v1:orders.refund', { args, model: 'async', run }),
    operation('v1:orders.read', { args, run }),
    operation('v1:orders.close', { args, scopes: ['orders:close'], run }),
  ]
}

test('the verdict, the rule and the refusal are those that the call then gets', async () => {
  const ran: unknown[] = []
  const desk = await openDesk({ policy, operations: orders(ran), limits: { pendingApprovalsPerCaller: 1_000 } })
  const person = fc.constantFrom('agent' as const, 'root' as const)
  const op = fc.constantFrom('v1:orders.refund', 'v1:orders.read', 'v1:orders.close')
  const args = fc.record({ amount: fc.oneof(fc.constantFrom(50, 150, 1_500, 6_000), fc.string({ maxLength: 3 })) })

  await fc.assert(
    fc.asyncProperty(person, op, args, async (who, name, given) => {
      const before = ran.length
      const seen = resultOf(await desk.as(who, CHECK, { op: name, args: given }))
      expect(ran).toHaveLength(before)

      const waiting = (await desk.waiting()).length
      const { body } = await desk.as(who, name, given)
      const held = (await desk.waiting()).length > waiting
      expect(seen.refusal?.code).toBe(body.error?.code)
      expect(seen.valid).toBe(body.error?.code !== 'VALIDATION_ERROR' && seen.errors.length === 0)
      if (seen.valid && seen.refusal === undefined) expect(seen.verdict).toBe(held ? 'hold' : 'allow')
      else if (seen.valid) expect(seen.verdict).toBe('deny')
    }),
    { numRuns: 40 },
  )
})

test('all problems are told at once, each with its place', async () => {
  const ran: unknown[] = []
  const pay = operation('v1:shop.pay', {
    args: z.object({ card: z.object({ number: z.string().min(4) }), amount: z.coerce.number().default(1) }),
    media: [{ name: 'receipt', required: true, acceptedTypes: ['image/png'], maxBytes: 10 }],
    run: (given) => ran.push(given),
  })
  const desk = await openDesk({ operations: [pay] })
  const check = async (args: object, media: object[]) =>
    resultOf(await desk.as('root', CHECK, { op: 'v1:shop.pay', args, media }))

  const bad = await check({ card: { number: 7 }, amount: 'x' }, [{ name: 'receipt', mimeType: 'text/html', bytes: 9 }])
  const good = await check({ card: { number: '1234' } }, [{ name: 'receipt', mimeType: 'image/png', bytes: 10 }])

  expect(bad).toMatchObject({ valid: false, verdict: 'allow' })
  expect(bad.errors.map((error) => [error.in, error.path])).toEqual([
    [undefined, '/card/number'],
    [undefined, '/amount'],
    ['media', '/receipt'],
  ])
  expect(good).toMatchObject({ valid: true, errors: [], normalized: { card: { number: '1234' }, amount: 1 } })
  expect(ran).toEqual([])
})

test('missing scopes, authorizations, secrets and the user are named', async () => {
  const close = operation('v1:orders.close', {
    scopes: ['orders:close', 'orders:read'],
    run: () => null,
  })
  const send = operation('v1:mail.send', {
    sideEffecting: true,
    risk: 'medium',
    requires: { authorization: [{ id: 'mail' }], secrets: ['signature'], userId: true },
    run: () => null,
  })
  const desk = await openDesk({ operations: [close, send] })

  const scopes = resultOf(await desk.as('agent', CHECK, { op: 'v1:orders.close', args: {} }))
  const needs = resultOf(await desk.as('agent', CHECK, { op: 'v1:mail.send', args: {} }))

  expect(scopes).toMatchObject({
    verdict: 'deny',
    missing: ['orders:close', 'orders:read'],
    refusal: { code: 'INSUFFICIENT_SCOPE' },
    effects: 'none',
  })
  expect(needs).toMatchObject({
    verdict: 'allow',
    missing: ['authorization:mail', 'secret:signature', 'userId'],
    refusal: { code: 'REQUIREMENTS_MISSING' },
    effects: 'once',
    risk: 'medium',
  })
})

test('an unused approval of the same call lets it run, and a check does not use it up', async () => {
  const desk = await openDesk()
  const oxp = oxpClient(desk.url)
  const refund = () => oxp.call('orders.refund', { amount: 500 }, {}, PEOPLE.agent.headers)
  const check = async () => resultOf(await desk.as('agent', CHECK, { op: 'v1:orders.refund', args: { amount: 500 } }))
  await refund()
  const { id } = await onlyOne(desk)

  const undecided = await check()
  await desk.decide(id)
  const approved = [await check(), await check()]
  await refund()

  expect(undecided).toMatchObject({ verdict: 'hold', rule: 'policy#large-refunds' })
  for (const seen of approved) expect(seen).toMatchObject({ verdict: 'allow', approval: id })
  expect(desk.ran).toEqual([{ amount: 500 }])
  expect(await check()).toMatchObject({ verdict: 'hold' })
})

test('nothing is sent to the tool of a remote operation', async () => {
  let requests = 0
  const tool = createHttpServer((_, response) => {
    requests++
    response.end('{}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void tool.close())
  await new Promise((resolve) => tool.once('listening', resolve))
  const { port } = tool.address() as { port: number }
  const remote = operation('v1:web.fetch', {
    media: [{ name: 'page', acceptedTypes: ['*/*'], maxBytes: 9 }],
    backend: { kind: 'http', endpoint: `http://127.0.0.1:${port}/`, allowPrivate: true },
  })
  const desk = await openDesk({ operations: [remote] })
  const media = [{ name: 'page', mimeType: 'text/html', ref: `http://127.0.0.1:${port}/page` }]

  const seen = resultOf(await desk.as('root', CHECK, { op: 'v1:web.fetch', args: {}, media }))

  expect(seen).toMatchObject({ valid: true, verdict: 'allow' })
  expect(requests).toBe(0)
})

test('a check counts no call, opens no approval and writes nothing to the audit trail about the call', async () => {
  const ran: unknown[] = []
  const desk = await openDesk({ policy, operations: orders(ran) })
  for (const amount of [50, 150, 1_500]) await desk.as('agent', CHECK, { op: 'v1:orders.refund', args: { amount } })

  const { body } = await desk.as('root', 'v1:callplane.audit.list', { operation: 'v1:orders.refund@1.0.0' })

  expect((body.result as { entries: unknown[] }).entries).toEqual([])
  expect(await desk.waiting()).toEqual([])
  await desk.refund(150)
  expect(await onlyOne(desk)).toMatchObject({ args: { amount: 150 } })
})

test('a caller that has used up its rate learns it, and the queue is foreseen', async () => {
  const { token, hash } = createToken()
  const job = operation('v1:jobs.build', { model: 'async', run: () => new Promise(() => {}) })
  const site = await startSite({
    operations: [job],
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'one', scopes: [] }] },
    limits: { openCallsPerCaller: 1 },
  })
  const headers = { Authorization: `Bearer ${token}` }
  const check = async () => resultOf(await site.call(CHECK, { op: 'v1:jobs.build', args: {} }, {}, { headers }))

  const before = await check()
  await site.call('v1:jobs.build', {}, {}, { headers })
  const after = await check()

  expect(before).not.toHaveProperty('refusal')
  expect(after.refusal).toMatchObject({ code: 'TOO_MANY_OPEN_CALLS', retryAfterMs: 1_000 })
})

test('an operation that the caller may not see does not exist for a check either', async () => {
  const desk = await openDesk()

  const hidden = await desk.as('agent', CHECK, { op: 'v1:callplane.approvals.list', args: {} })
  const unknown = await desk.as('agent', CHECK, { op: 'v1:nothing', args: {} })

  for (const { body } of [hidden, unknown]) expect(body.error?.code).toBe('UNKNOWN_OP')
})
