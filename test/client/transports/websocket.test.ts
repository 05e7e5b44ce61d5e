/** What the client does on its WebSocket: credentials, the end of connections, streams that are renewed, bad servers. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, createToken, operation } from 'callplane'
import { createClient } from 'callplane/client'
import { webSocketTransport } from 'callplane/client/websocket'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { z } from 'zod'
import { createGate, startSite, temporaryFolder } from '../../scenarios/server.ts'
import { createOperations, type Operations } from './operations.ts'

const ada = createToken()
const bob = createToken()
const auth = {
  tokens: [
    { kind: 'bearer' as const, hash: ada.hash, subject: 'ada', scopes: ['*'] },
    { kind: 'bearer' as const, hash: bob.hash, subject: 'bob', scopes: ['*'] },
  ],
}
const whoAmI = operation('v1:people.whoAmI', { result: z.string(), run: (_args, { caller }) => caller.subject })
const people = [whoAmI] as const

function connect<Ops>(url: string, options: Partial<Parameters<typeof webSocketTransport>[0]> = {}) {
  const api = createClient<Ops>({ transport: webSocketTransport({ url, ...options }) })
  onTestFinished(() => (api as { close(): void }).close())
  return api
}

test('all calls share one connection, and a new token replaces the one before', async () => {
  const { url } = await startSite({ operations: [...people], auth })
  let token = 'cp_wrong'
  const refused: (string | undefined)[] = []
  const api = connect<typeof people>(url, {
    token(before) {
      if (before !== undefined) {
        refused.push(before)
        token = ada.token
      }
      return token
    },
  })

  const first = await api.people.whoAmI()
  token = bob.token
  const second = await Promise.all([api.people.whoAmI(), api.people.whoAmI()])
  const anonymous = await connect<typeof people>(url)
    .people.whoAmI()
    .catch((fault) => fault)

  expect(first).toBe('ada')
  expect(second).toEqual(['bob', 'bob'])
  expect(refused).toEqual(['cp_wrong'])
  expect(anonymous).toMatchObject({ code: 'AUTH_REQUIRED', outcome: 'refused', status: 401 })
})

test('calls go on when the server restarts', async () => {
  const { operations, gate, seen } = createOperations()
  const data = temporaryFolder()
  const site = await startSite({ operations: [...operations], data })
  const { port } = new URL(site.url)
  const api = connect<Operations>(site.url)
  const run = await api.orders.charge.start({ id: 'o1' })
  await gate.began
  const result = run.result()

  await site.close()
  const again = await createServer({ operations: [...operations], data })
  onTestFinished(() => again.close(0))
  await again.listen({ port: Number(port) })
  gate.open(7)

  expect(await result).toEqual({ amount: 7 })
  expect(await api.orders.getItem({ id: '1' })).toEqual({ name: 'item 1' })
  expect(seen.charges).toContain('o1')
})

test('a closed client ends its calls and takes no more', async () => {
  const { operations, gate } = createOperations()
  const { url } = await startSite({ operations: [...operations] })
  const api = connect<Operations>(url)
  const paying = api.orders.pay({ id: 'o1' }).catch((fault) => fault)
  await gate.began

  api.close()

  expect(await paying).toMatchObject({ code: 'ABORTED', outcome: 'unknown', operation: 'v1:orders.pay' })
  await expect(api.orders.getItem({ id: '1' })).rejects.toMatchObject({ code: 'ABORTED' })
  gate.open(1)
})

test('a stream is subscribed again before it expires, on the same connection', async () => {
  const gate = createGate()
  const starts: string[] = []
  const tick = operation('v1:clock.tick', {
    frame: z.object({ start: z.number() }),
    ttlSeconds: 2,
    async *run(_args, ctx) {
      yield { start: starts.push(ctx.requestId) }
      if (starts.length > 1) return
      await gate.pass()
    },
  })
  const operations = [tick] as const
  const { url } = await startSite({ operations: [...operations] })
  const seen: number[] = []

  for await (const { start } of connect<typeof operations>(url).clock.tick()) seen.push(start)

  expect(seen).toEqual([1, 2])
  expect(new Set(starts).size).toBe(2)
  gate.open(undefined)
})

test('files go over HTTP', async () => {
  const describeFile = operation('v1:files.describe', {
    media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 100_000 }],
    result: z.string(),
    run: async (_args, ctx) => (await ctx.media.file.text()).toUpperCase(),
  })
  const operations = [describeFile] as const
  const { url } = await startSite({ operations: [...operations] })

  const shouted = await connect<typeof operations>(url).files.describe(
    {},
    { media: { file: new File(['hello'], 'a.txt', { type: 'text/plain' }) } },
  )

  expect(shouted).toBe('HELLO')
})

test('a server that answers something else does not confuse the client', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.close())
  await once(server, 'listening')
  server.on('connection', (socket) => {
    socket.on('message', (data) => {
      const { ctx, op } = JSON.parse(String(data))
      if (op === 'v1:a.hangsUp') return socket.terminate()
      socket.send('<html>')
      socket.send(JSON.stringify({ state: 'complete', result: 1 }))
      socket.send(JSON.stringify({ requestId: 'another', state: 'complete', result: 2 }))
      socket.send(new Uint8Array([1, 2]))
      socket.send(new Uint8Array([0, 0, 0, 9, 1]))
      socket.send(JSON.stringify({ requestId: ctx.requestId, state: 'complete', result: 3 }))
    })
  })
  const api = connect<Record<never, never>>(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  expect(await api.call('v1:a.works', {})).toBe(3)
  await expect(api.call('v1:a.hangsUp', {})).rejects.toMatchObject({ code: 'UNREACHABLE', outcome: 'unknown' })
  await expect(connect<Record<never, never>>('http://127.0.0.1:1').call('v1:a', {})).rejects.toMatchObject({
    code: 'UNREACHABLE',
  })
})
