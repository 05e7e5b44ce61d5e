/** The official clients of both generations against our server, over HTTP. */
import { Client as NewerClient, StreamableHTTPClientTransport as NewerHttp } from '@modelcontextprotocol/client'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OlderHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { startSite } from './server.ts'

const clientInfo = { name: 'test', version: '1.0.0' }

const operations = [
  operation('v1:math.add', {
    args: z.object({ a: z.number(), b: z.number() }),
    result: z.number(),
    run: ({ a, b }) => a + b,
  }),
  operation('v1:orders.get', {
    args: z.object({ id: z.string() }),
    result: z.object({ id: z.string() }),
    run: ({ id }) => ({ id }),
  }),
  operation('v1:reports.make', {
    model: 'async',
    result: z.object({ rows: z.number() }),
    run: (_, ctx) => {
      ctx.progress(0.5, 'half way')
      return { rows: 3 }
    },
  }),
  operation('v1:files.export', {
    run: (_, ctx) => ctx.object('\u0000'.repeat(10), { mimeType: 'application/octet-stream' }),
  }),
]

test('the client of the older generation lists, calls, waits and reads', async () => {
  const site = await startSite({ operations })
  const client = new OlderClient(clientInfo)
  await client.connect(new OlderHttp(new URL(`${site.url}/mcp`)) as Transport)
  onTestFinished(() => client.close())

  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['files_export', 'math_add', 'orders_get', 'reports_make'])
  // These clients check structured content against the schema they were shown.
  const sum = await client.callTool({ name: 'math_add', arguments: { a: 2, b: 3 } })
  expect(sum.structuredContent).toEqual({ result: 5 })
  const order = await client.callTool({ name: 'orders_get', arguments: { id: 'o1' } })
  expect(order.structuredContent).toEqual({ id: 'o1' })
  const wrong = await client.callTool({ name: 'orders_get', arguments: { id: 7 } })
  expect(wrong.isError).toBe(true)
  const report = await client.callTool({ name: 'reports_make' }, undefined, { onprogress: () => {} })
  expect(report.structuredContent).toEqual({ rows: 3 })
  const file = await client.callTool({ name: 'files_export' })
  const [link] = file.content as unknown as [{ type: string; uri: string }]
  expect(link.type).toBe('resource_link')
  const { contents } = await client.readResource({ uri: link.uri })
  expect(contents[0]).toMatchObject({ mimeType: 'application/octet-stream', blob: btoa('\u0000'.repeat(10)) })
})

test('the client of the newer generation negotiates the stateless revision and does the same', async () => {
  const site = await startSite({ operations })
  const client = new NewerClient(clientInfo, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new NewerHttp(new URL(`${site.url}/mcp`)))
  onTestFinished(() => client.close())

  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['files_export', 'math_add', 'orders_get', 'reports_make'])
  const sum = await client.callTool({ name: 'math_add', arguments: { a: 2, b: 3 } })
  expect(sum.structuredContent).toBe(5)
  const report = await client.callTool({ name: 'reports_make' }, { onprogress: () => {} })
  expect(report.structuredContent).toEqual({ rows: 3 })
  const file = await client.callTool({ name: 'files_export' })
  const [link] = file.content as unknown as [{ type: string; uri: string }]
  const { contents } = await client.readResource({ uri: link.uri })
  expect(contents[0]).toMatchObject({ blob: btoa('\u0000'.repeat(10)) })
})
