import { operation, type RetryRules } from 'callplane'
import { expect, test } from 'vitest'
import { type Site, startSite } from '../scenarios/server.ts'

const shop = [
  operation('v1:orders.get', { run: async (args) => ({ got: args }) }),
  operation('v1:orders.fail', {
    run: async (_args, ctx) => ctx.fail('SOLD_OUT', 'There is none left.', { details: { left: 0 } }),
  }),
]

/** A server whose tools are another server's. */
async function startFront(kind: string, path: string, tool: string, retry?: RetryRules, tools = shop): Promise<Site> {
  const peer = await startSite({ operations: tools })
  const backend = {
    kind,
    endpoint: `${peer.url}${path}`,
    allowPrivate: true,
    tool,
    ...(kind === 'webhook' && { pollMs: 20 }),
  }
  return startSite({ operations: [operation('v1:front.run', { backend, ...(retry && { retry }) })] })
}

test.each([
  ['external', '/tool-contract/v1/execute'],
  ['webhook', '/tool-contract/v1/jobs'],
])('%s: a server of ours can be the tool of another', async (kind, path) => {
  const front = await startFront(kind, path, 'orders_get')

  expect((await front.call('v1:front.run', { id: 7 })).body).toMatchObject({
    state: 'complete',
    result: { got: { id: 7 } },
  })
})

test.each([
  ['external', '/tool-contract/v1/execute'],
  ['webhook', '/tool-contract/v1/jobs'],
])('%s: the failure of the peer is reported', async (kind, path) => {
  const failing = await startFront(kind, path, 'orders_fail')
  const missing = await startFront(kind, path, 'orders_none')

  expect((await failing.call('v1:front.run')).body).toMatchObject({
    state: 'error',
    error: { message: 'There is none left.' },
  })
  expect((await missing.call('v1:front.run')).body).toMatchObject({ state: 'error' })
})

test.each([
  ['external', '/tool-contract/v1/execute'],
  ['webhook', '/tool-contract/v1/jobs'],
])('%s: a further attempt here is a further attempt there', async (kind, path) => {
  let runs = 0
  const unsteady = operation('v1:orders.get', {
    run: (_args, ctx) =>
      ++runs === 1 ? ctx.fail('BUSY', 'Not now.', { retryable: true }) : { runs, attempt: ctx.attempt },
  })
  const front = await startFront(kind, path, 'orders_get', { attempts: 2, backoffMs: 1 }, [unsteady])

  expect((await front.call('v1:front.run')).body).toMatchObject({ state: 'complete', result: { runs: 2 } })
})
