/** `@modelcontextprotocol/inspector --cli` against the quickstart, in both generations of the protocol. */
import { join } from 'node:path'
import { createToken } from 'callplane'
import { expect, test, vi } from 'vitest'
import { temporaryFolder } from '../cli/processes.ts'
import { type Inspected, inspect } from './inspector.ts'
import { listenTo } from './listener.ts'
import { quickstartCommand, serveQuickstart, TOOLS, TOOLS_WITH_TASKS } from './quickstart.ts'

// A process for each question, and they start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const ADD = ['--method', 'tools/call', '--tool-name', 'Calculator_Add', '--tool-arg', 'a=10', 'b=5']
const REPORT = ['--method', 'tools/call', '--tool-name', 'Reports_Generate', '--tool-arg', 'month=2026-01', 'steps=1']

/** The first steps of a user. `sum` is the number in the form of the protocol revision. */
async function tryEverything(server: readonly string[], sum: unknown, tools = TOOLS_WITH_TASKS): Promise<void> {
  // Each starts the server itself then, and one at a time can use the data folder.
  const isCommand = server.includes('--config')
  // Strict: a schema that a model's provider would not take is an error.
  const asked = [
    ['--method', 'tools/list', '--strict'],
    ADD,
    REPORT,
    ['--method', 'resources/list'],
    ['--method', 'resources/read', '--uri', 'callplane://registry'],
  ]
  const answers = isCommand
    ? await inTurn(asked, (words) => inspect(...server, ...words))
    : await Promise.all(asked.map((words) => inspect(...server, ...words)))
  const [list, added, report, resources, registry] = answers as [Inspected, Inspected, Inspected, Inspected, Inspected]

  expect(list.code).toBe(0)
  expect(list.result.tools.map(({ name }) => name)).toEqual(tools)
  expect(added.result).toMatchObject({ content: [{ type: 'text', text: '15' }], structuredContent: sum })
  expect(report.result.structuredContent).toEqual({ month: '2026-01', rows: 100 })
  expect(resources.result.resources.map(({ uri }) => uri)).toEqual(['callplane://registry'])
  expect(JSON.parse(registry.result.contents[0].text)).toMatchObject({ callVersion: '2026-02-10' })
}

async function inTurn<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await act(item))
  return results
}

test.each([
  ['legacy', { result: 15 }, TOOLS],
  ['modern', 15, TOOLS_WITH_TASKS],
])('over HTTP in the %s era it lists, calls, waits and reads', async (era, sum, tools) => {
  const url = await serveQuickstart()
  await tryEverything([`${url}/mcp`, '--protocol-era', era], sum, tools)
})

test('over standard input and output it negotiates and does the same, from a file as agents have it', async () => {
  const mcpServers = { quickstart: await quickstartCommand() }
  const folder = await temporaryFolder({ 'mcp.json': JSON.stringify({ mcpServers }) })
  await tryEverything(['--config', join(folder, 'mcp.json'), '--server', 'quickstart', '--protocol-era', 'auto'], 15)
})

test('an async operation is a task that it asks for until it has ended', async () => {
  const { url, methods } = await listenTo(await serveQuickstart())

  const report = await inspect(`${url}/mcp`, '--protocol-era', 'modern', ...REPORT)

  expect(report.result.structuredContent).toEqual({ month: '2026-01', rows: 100 })
  expect(methods).toContain('tasks/get')
})

test('a result in chunks is a link that it can read, and a failure says what to do instead', async () => {
  const server = `${await serveQuickstart()}/mcp`
  const call = (name: string, args: object) =>
    inspect(server, '--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args))

  const exported = await call('Orders_Export', { rows: 2 })
  const { type, uri } = exported.result.content[0]
  const file = await inspect(server, '--method', 'resources/read', '--uri', uri)
  const nobody = await call('Doorbell_Ring', { doorbell_id: 'none' })

  expect(type).toBe('resource_link')
  expect(file.result.contents[0]).toMatchObject({
    mimeType: 'text/csv',
    text: 'order,item,price\n1,item-1,0.1\n2,item-2,0.2\n',
  })
  expect(nobody.error.code).toBe('tool_is_error')
  expect(nobody.result.content[0].text).toContain('ids: doorbell42,doorbell84')
})

test('with a token it connects, and without one it is told that it needs one', async () => {
  const { token } = createToken()
  const server = `${await serveQuickstart(token)}/mcp`

  const known = await inspect(server, '--header', `Authorization: Bearer ${token}`, ...ADD)
  const unknown = await inspect(server, ...ADD)

  expect(known.result.structuredContent).toEqual({ result: 15 })
  expect(unknown.error.code).toBe('auth_required')
})
