/** Operators see the nodes of a server and their load. */
import { hostname } from 'node:os'
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startPair } from '../workers/pair.ts'
import { createGate, startSite } from './server.ts'

const LIST = 'v1:callplane.nodes.list'

function operator() {
  const { token, hash } = createToken()
  const grants = { kind: 'bearer' as const, subject: 'operator', scopes: ['*', 'callplane:read'] }
  return { auth: { tokens: [{ hash, ...grants }] }, headers: { Authorization: `Bearer ${token}` } }
}

test('a server alone is one node, with what it runs', async () => {
  const { auth, headers } = operator()
  const gate = createGate<string>()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const site = await startSite({ operations: [build], auth })
  await site.call('v1:jobs.build', {}, { requestId: 'build-1' }, { headers })
  await gate.began

  const { body } = await site.call(LIST, {}, {}, { headers })
  gate.open('built')

  expect(body.result).toEqual({
    nodes: [
      {
        node: 1,
        schema: expect.any(Number),
        host: hostname(),
        pid: process.pid,
        version: manifest.version,
        startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        address: site.url,
        // The question itself runs, too.
        running: 2,
        waiting: 0,
        busy: expect.any(Number),
        uptimeMs: expect.any(Number),
        memoryBytes: expect.any(Number),
        operations: [{ operation: 'v1:jobs.build@1.0.0', calls: 1 }],
        draining: false,
      },
    ],
    queued: 0,
    open: 1,
  })
})

test('the workers of a server are its nodes, whichever of them is asked', async () => {
  const { auth, headers } = operator()
  const gate = createGate<string>()
  const build = operation('v1:jobs.build', { model: 'async', run: () => gate.pass() })
  const [first, second] = await startPair({ operations: [build], auth })
  await first.call('v1:jobs.build', {}, { requestId: 'build-1' }, { headers })
  await gate.began

  const { body } = await second.call(LIST, {}, {}, { headers })
  gate.open('built')

  expect(body.result).toMatchObject({
    nodes: [
      { node: 1, address: first.url, operations: [{ operation: 'v1:jobs.build@1.0.0', calls: 1 }] },
      { node: 2, address: second.url, operations: [], schema: expect.any(Number) },
    ],
    open: 1,
  })
})
