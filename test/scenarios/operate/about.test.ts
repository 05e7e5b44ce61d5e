/** What a caller learns about itself, about one operation, and about every failure. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import type { FaultInfo } from '../../../src/engine/admin/about/faults.ts'
import { openDesk } from '../approving.ts'
import { startSite } from '../server.ts'

test('every caller learns who it is, also without a scope of the server', async () => {
  const desk = await openDesk()

  const agent = await desk.as('agent', 'v1:callplane.whoami')
  const stranger = await desk.as('stranger', 'v1:callplane.whoami')

  expect(agent.body.result).toEqual({
    caller: { owner: 'callplane|agent', tenant: 'main' },
    scopes: [],
    mode: 'read-write',
    server: { name: 'callplane', version: manifest.version, startedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
    features: ['approvals', 'mcp', 'oxp', 'otc', 'rest', 'contract'],
  })
  expect(stranger.body.result).toMatchObject({ caller: { tenant: 'elsewhere' }, scopes: ['callplane:admin'] })
})

test('a caller without a credential learns nothing, and the registry does not list what needs no scope', async () => {
  const desk = await openDesk()

  const nobody = await desk.call('v1:callplane.whoami')
  const registry = await (await desk.request('/.well-known/ops')).text()

  expect(nobody.status).toBe(401)
  expect(registry).not.toContain('v1:callplane.whoami')
})

test('an operator sees what runs an operation, its rules and its rates', async () => {
  const search = operation('v1:web.search', {
    risk: 'medium',
    capabilities: ['network.read'],
    retry: { attempts: 3 },
    backend: { kind: 'http', endpoint: 'https://search.example/api?key=hidden' },
  })
  const add = operation('v1:math.add', { run: () => 3 })
  const desk = await openDesk({ operations: [search, add] })
  await desk.as('root', 'v1:math.add')

  const one = await desk.as('root', 'v1:callplane.operations.get', { op: 'v1:web.search' })
  const other = await desk.as('root', 'v1:callplane.operations.get', { op: 'v1:math.add' })

  expect(one.body.result).toMatchObject({
    op: 'v1:web.search',
    entry: { op: 'v1:web.search', argsSchema: expect.any(Object) },
    backend: { kind: 'http', about: 'https://search.example/api' },
    risk: 'medium',
    capabilities: ['network.read'],
    retry: { attempts: 3 },
    rates: { calls: 0, errors: 0, sinceMs: expect.any(Number) },
  })
  expect(JSON.stringify(one.body)).not.toContain('hidden')
  expect(other.body.result).toMatchObject({ rates: { calls: 1, errors: 0, p50Ms: expect.any(Number) } })
})

test('the details of an operation need a scope, and hide operations that the caller may not see', async () => {
  const desk = await openDesk()
  const get = 'v1:callplane.operations.get'

  const without = await desk.as('agent', get, { op: 'v1:orders.refund' })
  const unknown = await desk.as('root', get, { op: 'v1:orders.nothing' })

  expect(without.body.error?.code).toBe('UNKNOWN_OP')
  expect(unknown.body.error?.code).toBe('UNKNOWN_OP')
})

test('every failure has its form in each protocol, as that protocol sends it', async () => {
  const pay = operation('v1:shop.pay', {
    errors: { CARD_DECLINED: { description: 'The bank declined the card.', remedy: 'Use another card.' } },
    args: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
    run: (_, ctx) => ctx.fail('CARD_DECLINED', 'Declined.'),
  })
  const site = await startSite({ operations: [pay], rest: { allowExecute: true } })

  const { body } = await site.call('v1:callplane.faults.list')
  const { faults } = body.result as unknown as { faults: FaultInfo[] }
  const of = (code: string) => faults.find((fault) => fault.code === code) as FaultInfo

  expect(new Set(faults.map(({ kind, code, operations }) => `${kind} ${code} ${operations}`)).size).toBe(faults.length)
  for (const fault of faults) expect(fault.meaning).not.toBe('')
  expect(of('TIMEOUT')).toMatchObject({
    kind: 'timeout',
    retryable: true,
    wires: { opencall: { status: 500, code: 'PANIC_TIMEOUT' }, contract: { status: 200, code: 'timeout' } },
  })
  expect(of('CARD_DECLINED')).toMatchObject({ operations: ['v1:shop.pay'], remedy: 'Use another card.' })
  const declined = await site.call('v1:shop.pay', { amount: 1 })
  const invalid = await site.call('v1:shop.pay', {})
  expect(of('CARD_DECLINED').wires.opencall).toEqual({ status: declined.status, code: declined.body.error?.code })
  expect(of('VALIDATION_ERROR').wires.opencall).toEqual({ status: invalid.status, code: invalid.body.error?.code })
  const rest = await site.request('/tools/shop_pay/call', { method: 'POST', body: '{}', headers: JSON_BODY })
  expect(of('VALIDATION_ERROR').wires.rest).toEqual({ status: rest.status })
})

const JSON_BODY = { 'Content-Type': 'application/json' }
