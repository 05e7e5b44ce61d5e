import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { openHost, request } from './host.ts'

test('a job that ends within a moment is answered at once', async () => {
  const quick = operation('v1:reports.make', { run: () => ({ rows: 3 }) })
  const { submit } = await openHost({ operations: [quick], jobWaitMs: 5_000 })

  const { status, body } = await submit(request('r1', 'reports_make'))

  expect(status).toBe(200)
  expect(body).toMatchObject({ request_id: 'r1', status: 'ok', output: { rows: 3 } })
})

test.each(['sync', 'async'] as const)('a job of a %s operation is polled until it has ended', async (model) => {
  const gate = Promise.withResolvers<object>()
  const slow = operation('v1:reports.make', { model, run: () => gate.promise })
  const { submit, job, url } = await openHost({ operations: [slow] })

  const taken = await submit(request('ns/agent/s001', 'reports_make'))
  const running = await job('ns/agent/s001')
  gate.resolve({ rows: 3 })
  const ended = await submit(request('ns/agent/s001', 'reports_make'))
  const polled = await job('ns/agent/s001')

  for (const { status, headers, body } of [taken, running]) {
    expect(status).toBe(202)
    expect(headers.get('location')).toBe(`${url}/tool-contract/v1/jobs/ns%2Fagent%2Fs001`)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(body).toEqual({ tool_contract_version: 'v1', request_id: 'ns/agent/s001' })
  }
  expect(ended).toMatchObject({ status: 200, body: { status: 'ok', output: { rows: 3 } } })
  expect(polled).toMatchObject({
    status: 200,
    body: { status: 'ok', output: { rows: 3 }, trace: { trace_id: 'trace-abc', span_id: 'span-xyz' } },
  })
})

test('only its owner finds a job; for other callers it does not exist', async () => {
  const slow = operation('v1:reports.make', { model: 'async', run: () => new Promise(() => {}) })
  const { submit, job } = await openHost({ operations: [slow], tokens: { ada: ['*'], bob: ['*'] } })
  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  await submit(request('r1', 'reports_make'), as('ada'))

  const statuses = [await job('r1', as('ada')), await job('r1', as('bob')), await job('r2', as('ada')), await job('r1')]

  expect(statuses.map(({ status }) => status)).toEqual([202, 404, 404, 401])
})
