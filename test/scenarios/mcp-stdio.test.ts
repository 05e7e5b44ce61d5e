/** `callplane mcp` as an agent starts it: a separate process, used by the official clients of both generations. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Client as NewerClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewerStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OlderStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const clientInfo = { name: 'test', version: '1.0.0' }

async function writeOperations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const source = join(root, 'src/index.ts')
  await writeFile(
    join(folder, 'operations.ts'),
    `import { operation } from ${JSON.stringify(source)}
     export const add = operation('v1:math.add', {
       args: { type: 'object', required: ['a', 'b'], properties: { a: { type: 'number' }, b: { type: 'number' } } },
       result: { type: 'number' },
       run({ a, b }) { console.log('adding'); return a + b },
     })`,
  )
  return folder
}

const commandFor = (folder: string) => ({
  command: process.execPath,
  args: ['--conditions=callplane-source', join(root, 'src/cli/main.ts'), 'mcp', folder],
})

test('the client of the older generation calls a tool, though the handler prints', async () => {
  const client = new OlderClient(clientInfo)
  await client.connect(new OlderStdio({ ...commandFor(await writeOperations()), stderr: 'ignore' }))
  onTestFinished(() => client.close())
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['math_add'])
  const result = await client.callTool({ name: 'math_add', arguments: { a: 2, b: 3 } })
  expect(result.structuredContent).toEqual({ result: 5 })
})

test('the client of the newer generation does, too', async () => {
  const client = new NewerClient(clientInfo, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new NewerStdio({ ...commandFor(await writeOperations()), stderr: 'ignore' }))
  onTestFinished(() => client.close())
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  const result = await client.callTool({ name: 'math_add', arguments: { a: 2, b: 3 } })
  expect(result.content).toEqual([{ type: 'text', text: '5' }])
})

test('each input line gets its reply before the process ends, and the output has nothing else', async () => {
  const folder = await writeOperations()
  const { command, args } = commandFor(folder)
  const child = spawn(command, [...args, '--log-level', 'debug'], { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'math_add', arguments: { a: 1, b: 1 } } }
  child.stdin.end(`${JSON.stringify(call)}\nnonsense\n`)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(code).toBe(0)
  expect(lines).toHaveLength(2)
  expect(lines.find(({ id }) => id === 1)?.result.structuredContent).toEqual({ result: 2 })
  expect(lines.find(({ id }) => id === null)?.error.code).toBe(-32700)
})

test('a task outlives the process: killed in the middle, the next one finishes it under the same id', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'callplane-mcp-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(
    join(folder, 'operations.ts'),
    `import { existsSync } from 'node:fs'
     import { operation } from ${JSON.stringify(join(root, 'src/index.ts'))}
     export const server = { work: { leaseMs: 300, claimEveryMs: 50 }, limits: { pollBurst: 10_000 } }
     export const report = operation('v1:reports.make', {
       model: 'async',
       run: (_, ctx) => existsSync(${JSON.stringify(join(folder, 'go'))})
         ? 'made by attempt ' + ctx.attempt
         : new Promise(() => ctx.progress(0.5)),
     })`,
  )
  const first = startAgent(folder)
  const { result: task } = await first.ask('tools/call', { name: 'reports_make' })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  await writeFile(join(folder, 'go'), '')

  const second = startAgent(folder)
  for (;;) {
    const { result } = await second.ask('tasks/get', { taskId: task.taskId })
    if (result.status === 'working') continue
    expect(result).toMatchObject({ status: 'completed', result: { content: [{ text: 'made by attempt 2' }] } })
    return
  }
})

/** The process, and stateless requests to it, one after the other. */
function startAgent(folder: string) {
  const { command, args } = commandFor(folder)
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  }
  return {
    child,
    async ask(method: string, params: object) {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })}\n`)
      return JSON.parse(String((await lines.next()).value))
    },
  }
}
