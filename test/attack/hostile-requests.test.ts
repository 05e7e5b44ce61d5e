/**
 * A short siege: every route sends documented responses to mutated requests, and the server's state is unchanged
 * afterwards.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Child, startChild } from './child.ts'
import { sendHostileRequests } from './hostile-requests.ts'

let server: Child
beforeAll(async () => {
  server = await startChild('hostile-server.ts')
}, 60_000)
afterAll(() => server.stop())

test('2,000 hostile requests are answered as their routes promise', { timeout: 180_000 }, async () => {
  const report = await sendHostileRequests({ baseUrl: server.url, count: 2_000, seed: 1 })

  expect(report.findings).toEqual([])
  expect(report.sent).toBe(2_000)
  expect(Object.keys(report.statuses)).toEqual(expect.arrayContaining(['200', '202', '400', '404', '405']))
  expect(await server.post('/call', { op: 'v1:Calculator.Add', args: { a: 1, b: 2 } })).toMatchObject({
    json: { state: 'complete', result: 3 },
  })
})

test.each<[string, RequestListener]>([
  [
    'status 500',
    (_request, response) => response.writeHead(500, { 'Content-Type': 'application/json' }).end('{"error":1}'),
  ],
  ['an error that is not JSON', (_request, response) => response.writeHead(400).end('<h1>no</h1>')],
  [
    'an error of no declared shape',
    (_request, response) => response.writeHead(404, { 'Content-Type': 'application/json' }).end('{}'),
  ],
  ['an error without a body', (_request, response) => response.writeHead(404).end()],
  ['no answer', () => undefined],
  ['closed without an answer', (request) => request.socket.destroy()],
])('a response that breaks the rules of all routes is found: %s', async (what, listener) => {
  const bad = createServer(listener)
  await once(bad.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    bad.closeAllConnections()
    bad.close()
  })
  const baseUrl = `http://127.0.0.1:${(bad.address() as AddressInfo).port}`

  const { findings } = await sendHostileRequests({ baseUrl, count: 30, seed: 7, limitMs: 500, concurrency: 30 })

  expect(findings.map((finding) => finding.what)).toContain(what)
})

test('a server that is gone is found, and nothing is sent beyond loopback', async () => {
  const gone = await sendHostileRequests({ baseUrl: 'http://127.0.0.1:1', count: 50, seed: 1, concurrency: 1 })

  expect(gone).toMatchObject({ sent: 1, findings: [{ what: 'nobody listens any more' }] })
  await expect(sendHostileRequests({ baseUrl: 'http://192.0.2.1', count: 1, seed: 1 })).rejects.toThrow('loopback')
})
