/** The official clients of both generations against the quickstart, over HTTP and over stdio. */
import { Client as NewerClient, StreamableHTTPClientTransport as NewerHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewerStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OlderHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { quickstartCommand, serveQuickstart, TOOLS } from './quickstart.ts'

vi.setConfig({ testTimeout: 60_000 })

const clientInfo = { name: 'test', version: '1.0.0' }
const endpoint = async () => new URL(`${await serveQuickstart()}/mcp`)
const command = async () => ({ ...(await quickstartCommand()), stderr: 'ignore' as const })

const add = { name: 'Calculator_Add', arguments: { a: 10, b: 5 } }
const report = { name: 'Reports_Generate', arguments: { month: '2026-01', steps: 1 } }

test.each([
  ['HTTP', async () => new OlderHttp(await endpoint())],
  ['standard input and output', async () => new OlderStdio(await command())],
])('the older generation lists, calls and waits over %s', async (_, transport) => {
  const client = new OlderClient(clientInfo)
  await client.connect((await transport()) as Transport)
  onTestFinished(() => client.close())

  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS)
  expect((await client.callTool(add)).structuredContent).toEqual({ result: 15 })
  expect((await client.callTool(report)).structuredContent).toEqual({ month: '2026-01', rows: 100 })
})

test.each([
  ['HTTP', async () => new NewerHttp(await endpoint())],
  ['standard input and output', async () => new NewerStdio(await command())],
])('the newer generation lists, calls and waits over %s', async (_, transport) => {
  const client = new NewerClient(clientInfo, { versionNegotiation: { mode: 'auto' } })
  await client.connect(await transport())
  onTestFinished(() => client.close())

  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS)
  expect((await client.callTool(add)).structuredContent).toBe(15)
  expect((await client.callTool(report)).structuredContent).toEqual({ month: '2026-01', rows: 100 })
})
