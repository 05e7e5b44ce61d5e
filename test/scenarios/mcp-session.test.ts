/** MCP on a pair of streams: concurrent requests, cancellation, progress, and replies before the stream ends. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { createToken, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { createGate, type Site, startSite } from './server.ts'

type Message = { id?: unknown; method?: string; result?: unknown; error?: { code: number }; params?: unknown }

function connect(site: Site, token?: string) {
  const input = new PassThrough()
  const output = new PassThrough({ encoding: 'utf8' })
  const leaving = new AbortController()
  const served = site.server.serveMcp({ input, output, signal: leaving.signal, ...(token !== undefined && { token }) })
  onTestFinished(() => {
    leaving.abort()
    return served
  })
  const lines = output[Symbol.asyncIterator]()
  let rest = ''
  return {
    input,
    served,
    output,
    send: (message: object) => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    async next(): Promise<Message> {
      while (!rest.includes('\n')) rest += (await lines.next()).value
      const end = rest.indexOf('\n')
      const line = rest.slice(0, end)
      rest = rest.slice(end + 1)
      return JSON.parse(line)
    },
  }
}

const call = (id: unknown, name: string, meta: object = {}) => ({
  id,
  method: 'tools/call',
  params: { name, _meta: meta },
})

test('a quick request is answered while a slow one runs, and both before the connection ends', async () => {
  const gate = createGate()
  const slow = operation('v1:it.dawdles', { run: () => gate.pass() })
  const quick = operation('v1:it.hurries', { run: () => 'quick' })
  const site = await startSite({ operations: [slow, quick] })
  const { send, next, input, served } = connect(site)
  send(call('slow', 'it_dawdles'))
  await gate.began
  send(call('quick', 'it_hurries'))
  expect((await next()).id).toBe('quick')
  input.end()
  await once(input, 'end')
  gate.open('slow')
  expect(await next()).toMatchObject({ id: 'slow', result: { content: [{ text: 'slow' }] } })
  await served
})

test('a request that is called off stops, and is not answered', async () => {
  const stopped = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  const endless = operation('v1:it.waits', {
    run: (_, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => {
          stopped.resolve()
          reject(ctx.signal.reason)
        })
        began.resolve()
      }),
  })
  const site = await startSite({ operations: [endless] })
  const { send, next } = connect(site)
  send(call(1, 'it_waits'))
  await began.promise
  send(call(1, 'it_waits'))
  expect(await next()).toMatchObject({ id: 1, error: { code: -32600 } })
  send({ method: 'notifications/cancelled', params: { requestId: 1 } })
  await stopped.promise
  send({ id: 2, method: 'ping' })
  expect(await next()).toMatchObject({ id: 2, result: {} })
})

test('progress comes before the answer', async () => {
  const gate = createGate()
  const make = operation('v1:reports.make', {
    model: 'async',
    run: (_, ctx) => {
      ctx.progress(0.25, 'a quarter')
      return gate.pass()
    },
  })
  const site = await startSite({ operations: [make] })
  const { send, next } = connect(site)
  send(call(1, 'reports_make', { progressToken: 7 }))
  expect(await next()).toMatchObject({
    method: 'notifications/progress',
    params: { progressToken: 7, progress: 25, total: 100, message: 'a quarter' },
  })
  gate.open('done')
  expect(await next()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } })
})

test('with authentication, the token identifies the client', async () => {
  const { token, hash } = createToken()
  const who = operation('v1:it.asks', { run: (_, ctx) => ctx.caller.subject })
  const site = await startSite({
    operations: [who],
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'ann', scopes: [] }] },
  })
  const known = connect(site, token)
  known.send(call(1, 'it_asks'))
  expect(await known.next()).toMatchObject({ result: { content: [{ text: 'ann' }] } })
  const unknown = connect(site)
  unknown.send(call(1, 'it_asks'))
  expect(await unknown.next()).toMatchObject({ error: { code: -32010 } })
})

test('a message that is too long is refused, and the next one is taken', async () => {
  const site = await startSite({ operations: [], sizes: { envelopeBytes: 1_000 } })
  const { send, next, input } = connect(site)
  input.write(`${'x'.repeat(2_000)}\n`)
  expect(await next()).toMatchObject({ id: null, error: { code: -32600 } })
  send({ id: 1, method: 'ping' })
  expect((await next()).id).toBe(1)
})

test('a client of the older revisions is asked on the same streams, and told what changes', async () => {
  const remove = operation('v1:files.remove', {
    run: async (_, ctx) =>
      (await ctx.ask({ sure: { kind: 'form', message: 'Sure?', schema: { type: 'object' } } })).sure.action,
  })
  const site = await startSite({ operations: [remove] })
  const { send, next } = connect(site)
  const about = { protocolVersion: '2025-11-25', clientInfo: { name: 't', version: '1' } }
  send({ id: 1, method: 'initialize', params: { ...about, capabilities: { elicitation: {} } } })
  await next()

  send(call(2, 'files_remove'))
  const asked = await next()
  send({ id: asked.id, result: { action: 'decline' } })
  const answered = await next()
  site.server.registry.replace('later', [])
  const changed = await next()

  expect(asked).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } })
  expect(answered).toMatchObject({ id: 2, result: { content: [{ text: 'decline' }] } })
  expect(changed.method).toBe('notifications/tools/list_changed')
})
