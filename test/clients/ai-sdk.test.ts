/** The AI SDK's MCP client against the quickstart, with a scripted model that uses its tools. */
import { createMCPClient, type MCPClient, type MCPClientConfig } from '@ai-sdk/mcp'
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio'
import { generateText, isStepCount, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { createToken } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { quickstartCommand, serveQuickstart, TOOLS } from './quickstart.ts'

vi.setConfig({ testTimeout: 60_000 })

type Connection = Omit<MCPClientConfig, 'experimental_events'>

async function connect(config: Connection): Promise<MCPClient> {
  const client = await createMCPClient(config)
  onTestFinished(() => client.close())
  return client
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

/** A model that calls one tool, gets its result, and ends. */
function modelThatCalls(toolName: string, input: object): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: 'tool-call', toolCallId: 'call-1', toolName, input: JSON.stringify(input) }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'Done.' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      },
    ],
  })
}

/** The tool result that the model got. */
async function heard(client: MCPClient, toolName: string, input: object): Promise<unknown> {
  const model = modelThatCalls(toolName, input)
  // Each of the two packages brings a copy of the types that they share.
  const tools = (await client.tools()) as unknown as ToolSet
  const { text } = await generateText({ model, tools, prompt: 'Use the tool.', stopWhen: isStepCount(2) })
  expect(text).toBe('Done.')
  const last = model.doGenerateCalls[1]?.prompt.at(-1)
  expect(last?.role).toBe('tool')
  const [part] = last?.role === 'tool' ? last.content : []
  return part?.type === 'tool-result' ? part.output : undefined
}

async function tryEverything(client: MCPClient): Promise<void> {
  expect(Object.keys(await client.tools())).toEqual(TOOLS)
  expect(await heard(client, 'Calculator_Add', { a: 10, b: 5 })).toEqual({
    type: 'content',
    value: [{ type: 'text', text: '15' }],
  })
  expect(await heard(client, 'Reports_Generate', { month: '2026-01', steps: 1 })).toEqual({
    type: 'content',
    value: [{ type: 'text', text: '{"month":"2026-01","rows":100}' }],
  })
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toEqual(['callplane://registry'])
  const { contents } = await client.readResource({ uri: 'callplane://registry' })
  expect(contents[0]).toMatchObject({ mimeType: 'application/json' })
}

test('over HTTP a model calls a sync and an async operation and gets their results', async () => {
  const url = await serveQuickstart()
  const client = await connect({ transport: { type: 'http', url: `${url}/mcp` } })
  expect(client.initializeResult.protocolVersion).toBe('2026-07-28')
  await tryEverything(client)
})

test('over standard input and output it does the same', async () => {
  // Here the client gives a server one second to start before it takes it for one of an older revision.
  const transport = new StdioMCPTransport({ ...(await quickstartCommand()), stderr: 'ignore' })
  await tryEverything(await connect({ transport }))
})

test('a client that does not look for the newer revision begins with initialize and gets the same', async () => {
  const url = await serveQuickstart()
  const client = await connect({ transport: { type: 'http', url: `${url}/mcp` }, protocolVersionDiscovery: false })
  expect(client.initializeResult.protocolVersion).toBe('2025-11-25')
  expect(await heard(client, 'Calculator_Add', { a: 10, b: 5 })).toMatchObject({ value: [{ text: '15' }] })
})

test('a failure reaches the model with what to do instead, and nothing that is for developers', async () => {
  const url = await serveQuickstart()
  const client = await connect({ transport: { type: 'http', url: `${url}/mcp` } })
  const said = JSON.stringify(await heard(client, 'Doorbell_Ring', { doorbell_id: 'none' }))
  expect(said).toContain('ids: doorbell42,doorbell84')
  expect(said).not.toContain('does not exist')
})

test('with a bearer token it is served, and without one it is not', async () => {
  const { token } = createToken()
  const url = `${await serveQuickstart(token)}/mcp`
  const client = await connect({ transport: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } } })
  expect(await heard(client, 'Calculator_Add', { a: 10, b: 5 })).toMatchObject({ value: [{ text: '15' }] })
  await expect(createMCPClient({ transport: { type: 'http', url } })).rejects.toThrow('needs authentication')
})
