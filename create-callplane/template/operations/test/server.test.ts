/** The server with its policy, called by the typed client over HTTP. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'callplane'
import { createClient, isFault } from 'callplane/client'
import { expect, onTestFinished, test } from 'vitest'
import * as operations from '../operations/index.ts'

async function startServer() {
  const data = await mkdtemp(join(tmpdir(), 'callplane-test-'))
  const server = await createServer({ operations: Object.values(operations), policy: 'policy.yaml', data })
  const { url } = await server.listen({ port: 0 })
  const api = createClient<typeof operations>({ url })
  onTestFinished(async () => {
    api.close()
    await server.close()
    await rm(data, { recursive: true })
  })
  return api
}

test('the same refund sent twice runs once', async () => {
  const api = await startServer()
  const refund = () => api.orders.refund({ orderId: 'A-1', amount: 20 }, { idempotencyKey: 'refund-A-1' })

  expect(await refund()).toEqual(await refund())
})

test('a large refund waits for an approval', async () => {
  const api = await startServer()

  const run = await api.orders.refund.start({ orderId: 'A-2', amount: 500 })
  const { state } = await run.poll()

  expect(state).toBe('accepted')
})

test('the code of a failure reaches the client', async () => {
  const api = await startServer()

  const failed = await api.orders.get({ orderId: 'none' }).catch((error: unknown) => error)

  expect(isFault(failed, 'ORDER_NOT_FOUND')).toBe(true)
})
