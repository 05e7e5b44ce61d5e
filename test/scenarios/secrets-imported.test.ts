/**
 * MCP servers that repeat the secrets they received, in every output: tool descriptions, results, failures, progress
 * and standard error. Afterwards the test searches everything for the secrets.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importTools } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTool } from '../backends/tool-server.ts'
import { verifies } from '../requirements.ts'
import { contentsOf, expectNowhere, formsOf, registerTraceSdk } from './secret-search.ts'
import { type Answered, type Site, startSite, temporaryFolder } from './server.ts'

// A process is started, and again after it died.
vi.setConfig({ testTimeout: 30_000 })

const IN_ENVIRONMENT = 'kit?token>+/~"and\\more'
const IN_HEADER = 'web/token+with=signs&more'

/** The reply of a server to a message with this credential. Both servers run this function, one of them as text. */
function answerOf(message: { method: string; params: { name?: string; protocolVersion?: string } }, said: string) {
  const { method, params } = message
  const schema = { type: 'object', description: said, properties: { [said]: { const: said } } }
  const tool = (name: string) => ({
    name,
    title: said,
    description: said,
    inputSchema: schema,
    annotations: { readOnlyHint: true },
  })
  const server = { protocolVersion: params?.protocolVersion, serverInfo: { name: 'kit', version: '1' } }
  if (method === 'initialize') return { result: { ...server, capabilities: { tools: {} }, instructions: said } }
  if (method === 'tools/list') return { result: { tools: ['ok', 'fails', 'refuses', 'breaks', 'dies'].map(tool) } }
  if (method !== 'tools/call') return { error: { code: -32601, message: said } }
  const content = [{ type: 'text', text: said }]
  if (params.name === 'ok') return { result: { content, structuredContent: { said, [said]: [said] } } }
  if (params.name === 'fails') return { result: { content, structuredContent: { said }, isError: true } }
  const code = params.name === 'refuses' ? -32602 : -32603
  return { error: { code, message: said, data: { said } } }
}

const PROGRAM = `
  import { createInterface } from 'node:readline'
  ${formsOf.toString()}
  ${answerOf.toString()}
  const said = formsOf(process.env.TOKEN).join(' | ')
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  process.stderr.write(said)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.id === undefined) return
    const progressToken = message.params?._meta?.progressToken
    if (progressToken !== undefined) send({ method: 'notifications/progress', params: { progressToken, progress: 1, message: said } })
    if (message.params?.name === 'dies') process.exit(3)
    // One half with one answer, the other with the next.
    if (message.method === 'initialize') process.stderr.write(process.env.TOKEN.slice(0, 11))
    if (message.method === 'tools/list') process.stderr.write(process.env.TOKEN.slice(11))
    send({ id: message.id, ...answerOf(message, said) })
  })`

function importedProcess() {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'kit.mjs'), PROGRAM)
  const env = { TOKEN: { secretRef: 'kit' } }
  const command = { command: process.execPath, args: [join(folder, 'kit.mjs')], env }
  return importTools({ kind: 'mcp', as: 'v1:kit.*', ...command }, { model: 'async', ttlSeconds: 3600 })
}

async function importedUrl() {
  const tool = await openTool((asked, response) => {
    if (asked.method !== 'POST') return void response.writeHead(405).end()
    const message = JSON.parse(asked.body)
    const said = formsOf(asked.headers.authorization?.slice('Bearer '.length) ?? '').join(' | ')
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.params?.name === 'dies') return void response.writeHead(500).end(said)
    const answer = { jsonrpc: '2.0', id: message.id, ...answerOf(message, said) }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
  })
  const settings = { kind: 'mcp', as: 'v1:web.*', url: `${tool.url}/mcp`, allowPrivate: true } as const
  return importTools(settings, { auth: { secretRef: 'web' }, model: 'async', ttlSeconds: 3600 })
}

async function callAll(site: Site): Promise<Answered[]> {
  const replies: Answered[] = []
  for (const name of ['ok', 'fails', 'refuses', 'breaks', 'dies']) {
    for (const namespace of ['kit', 'web']) {
      const { body } = await site.call(`v1:${namespace}.${name}`)
      replies.push(await site.ended(body.requestId))
    }
  }
  return replies
}

test('no secret of an import is in what is offered, a reply, a log line, a span or the database', async () => {
  verifies('contract:106', 'contract:107', 'contract:108', 'contract:109')
  vi.stubEnv('CALLPLANE_SECRET_KIT', IN_ENVIRONMENT)
  vi.stubEnv('CALLPLANE_SECRET_WEB', IN_HEADER)
  onTestFinished(() => void vi.unstubAllEnvs())
  const spans = registerTraceSdk()
  const lines: string[] = []
  const site = await startSite({
    operations: [],
    imports: [importedProcess(), await importedUrl()],
    log: 'debug',
    logTo: { write: (line) => lines.push(line) },
  })

  const offered = await (await site.request('/.well-known/ops')).text()
  const replies = await callAll(site)
  await site.close()

  // All messages arrived. Otherwise the test would prove nothing.
  expect(offered.split('[redacted]').length).toBeGreaterThan(10 * formsOf('').length)
  expect(replies.filter(({ body }) => body.state === 'complete')).toHaveLength(2)
  expect(replies.filter(({ body }) => JSON.stringify(body).includes('[redacted]'))).toHaveLength(8)
  expect(lines.some((line) => line.includes('MCP server standard error') && line.includes('[redacted]'))).toBe(true)
  expect(lines.filter((line) => line.includes(IN_ENVIRONMENT.slice(0, 11)))).toEqual([])
  expectNowhere(
    [IN_ENVIRONMENT, IN_HEADER],
    [
      { name: 'offered', content: offered },
      ...replies.map(({ body }) => ({ name: 'reply', content: JSON.stringify(body) })),
      ...lines.map((line) => ({ name: 'log', content: line })),
      ...spans().map((span) => ({ name: 'span', content: JSON.stringify(span) })),
      ...contentsOf(site.data),
    ],
  )
})

test('a missing secret of an import is reported by name, without a stack', async () => {
  const lines: string[] = []
  await startSite({
    operations: [],
    imports: [importedProcess()],
    log: 'info',
    logTo: { write: (line) => lines.push(line) },
  })

  const [told] = lines.filter((line) => line.includes('a secret is missing')).map((line) => JSON.parse(line))

  expect(told).toMatchObject({ import: 'kit', problem: expect.stringContaining('"kit"') })
  expect(lines.join()).not.toMatch(/trying again|stack/)
})
