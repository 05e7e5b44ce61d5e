/** Handlers that ask a client of the older revisions a question while it waits for the result of its call. */
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OlderHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { askOlder, listen, send, twoCallers } from './mcp.ts'
import { FORMS, HAIKU, remove, SURE, YES } from './mcp-asking.ts'
import { type Site, startSite } from './server.ts'

const initialize = { protocolVersion: '2025-11-25', capabilities: FORMS, clientInfo: { name: 't', version: '1' } }

async function begin(site: Site, headers: Record<string, string> = {}) {
  const { headers: answered } = await askOlder(site, 'initialize', initialize, headers)
  return { 'Mcp-Session-Id': answered.get('mcp-session-id') as string, ...headers }
}

test('the client is asked on the stream of the call, and sends its answers as separate messages', async () => {
  const site = await startSite({ operations: [remove] })
  const session = await begin(site)
  const params = { name: 'files_remove', arguments: { name: 'a.txt' } }
  const stream = await listen(site, { jsonrpc: '2.0', id: 7, method: 'tools/call', params }, session)
  const first = await stream.next()
  await send(site, { jsonrpc: '2.0', id: first.id, result: YES }, session)
  const second = await stream.next()
  await send(site, { jsonrpc: '2.0', id: second.id, result: YES }, session)
  const done = await stream.next()
  expect(first).toMatchObject({ method: 'elicitation/create', params: { message: 'Are you sure?' } })
  expect(second.id).not.toBe(first.id)
  expect(done).toMatchObject({ id: 7, result: { content: [{ text: 'removed a.txt' }] } })
})

test('the reply of another client, or to no question, is ignored; the model gets a refusal', async () => {
  const { ada, ben, auth } = twoCallers()
  const site = await startSite({ operations: [remove], auth })
  const session = await begin(site, ada)
  const params = { name: 'files_remove', arguments: {} }
  const stream = await listen(site, { jsonrpc: '2.0', id: 7, method: 'tools/call', params }, session)
  const { id } = await stream.next()
  await send(site, { jsonrpc: '2.0', id, result: YES }, ben)
  await send(site, { jsonrpc: '2.0', id: 'made-up', result: YES }, session)
  await send(site, { jsonrpc: '2.0', id, error: { code: -1, message: 'User rejected it' } }, session)
  const done = await stream.next()
  expect(done.result).toMatchObject({ isError: true })
  expect(done.result.content[0].text).toContain('User rejected it')
})

test('a session is its caller’s own', async () => {
  const { ada, ben, auth } = twoCallers()
  const site = await startSite({ operations: [remove], auth })
  const session = await begin(site, ada)
  const stolen = { ...session, ...ben }
  expect((await askOlder(site, 'ping', {}, session)).status).toBe(200)
  expect((await askOlder(site, 'ping', {}, stolen)).status).toBe(404)
  expect((await listen(site, undefined, stolen)).status).toBe(404)
})

test('messages of the handler arrive before its questions and before its end', async () => {
  const chatty = operation('v1:it.talks', {
    async run(_, ctx) {
      ctx.say('info', 'before')
      await ctx.ask({ confirm: SURE })
      ctx.say('info', 'after')
      return 'done'
    },
  })
  const site = await startSite({ operations: [chatty] })
  const session = await begin(site)
  const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'it_talks', arguments: {} } }
  const stream = await listen(site, body, session)
  const first = await stream.next()
  const asked = await stream.next()
  await send(site, { jsonrpc: '2.0', id: asked.id, result: YES }, session)
  const rest = [await stream.next(), await stream.next(), await stream.next()]
  expect([first.params.data, asked.method]).toEqual(['before', 'elicitation/create'])
  expect(rest.map(({ params, result }) => params?.data ?? result.content[0].text)).toEqual(['before', 'after', 'done'])
})

test('a request is called off by its id, by its own session only', async () => {
  const began = Promise.withResolvers<void>()
  const slow = operation('v1:it.dawdles', {
    run: (_, ctx) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        began.resolve()
      }),
  })
  const site = await startSite({ operations: [slow] })
  const [session, other] = [await begin(site), await begin(site)]
  const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'it_dawdles', arguments: {} } }
  const answering = send(site, body, session)
  await began.promise
  const callOff = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }
  await send(site, callOff, other)
  await send(site, callOff, session)
  expect((await answering).json.result).toMatchObject({ isError: true })
})

test('for a client that does not support questions, the result says so', async () => {
  const site = await startSite({ operations: [remove] })
  const { json } = await askOlder(site, 'tools/call', { name: 'files_remove', arguments: {} })
  expect(json.result).toMatchObject({ isError: true })
  expect(json.result.content[0].text).toContain('questions that this client does not support')
})

test('the official client answers forms, and completes what its model is asked', async () => {
  const poem = operation('v1:poems.write', {
    async run(_, ctx) {
      const { haiku } = await ctx.ask({ haiku: HAIKU })
      return haiku.content
    },
  })
  const site = await startSite({ operations: [remove, poem] })
  const client = new OlderClient(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {} } },
  )
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: { sure: true } }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'An old silent pond' },
    model: 'stub',
  }))
  await client.connect(new OlderHttp(new URL(`${site.url}/mcp`)) as Transport)
  onTestFinished(() => client.close())

  const removed = await client.callTool({ name: 'files_remove', arguments: { name: 'a.txt' } })
  const written = await client.callTool({ name: 'poems_write', arguments: {} })

  expect(removed.content).toEqual([{ type: 'text', text: 'removed a.txt' }])
  expect(JSON.stringify(written.content)).toContain('An old silent pond')
})
