/** The agent configurations in the documentation, loaded by a client that reads them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createToken } from 'callplane'
import { expect, test, vi } from 'vitest'
import { QUICKSTART, temporaryFolder } from '../cli/processes.ts'
import { inspect } from './inspector.ts'
import { quickstartCommand, serveQuickstart } from './quickstart.ts'

vi.setConfig({ testTimeout: 60_000 })

const ROOT = join(import.meta.dirname, '../..')

interface Entry {
  command?: string
  args?: string[]
  url?: string
  headers?: Record<string, string>
}

const shown = ['README.md', 'docs/adapters/protocols/mcp.md'].flatMap((page) => {
  const blocks = readFileSync(join(ROOT, page), 'utf8').matchAll(/```json\n([^`]+)```/g)
  const servers = [...blocks].flatMap(([, json = '']) => Object.entries<Entry>(JSON.parse(json).mcpServers ?? {}))
  return servers.map(([name, entry]) => ({ page, name, how: entry.command ?? 'url', entry }))
})

/** Replaces the placeholders of the example. The package is not installed here, so the sources are run. */
async function fillIn({ command, args = [], url, headers }: Entry): Promise<object> {
  if (url !== undefined) {
    const { token } = createToken()
    const served = await serveQuickstart(headers && token)
    const { pathname } = new URL(url)
    const said = JSON.stringify(headers ?? {}).replace('<token>', token)
    return { type: 'http', url: served + pathname, headers: JSON.parse(said) }
  }
  const env = { CALLPLANE_DATA: await temporaryFolder() }
  if (command === 'npm') return { command, args: args.map((word) => word.replace('/path/to/callplane', ROOT)), env }
  const words = args.slice(args.indexOf('callplane') + 1)
  const own = await quickstartCommand()
  const program = own.args.slice(0, own.args.indexOf('mcp'))
  return {
    command: own.command,
    args: [...program, ...words.map((word) => word.replace('/path/to/project/operations', QUICKSTART))],
    env,
  }
}

test('there are some on both pages', () => {
  expect(shown.map(({ page, how }) => `${page} ${how}`)).toEqual([
    'README.md url',
    'README.md npm',
    'README.md npx',
    'docs/adapters/protocols/mcp.md npx',
    'docs/adapters/protocols/mcp.md url',
  ])
})

test.each(shown)('what $page shows as $name by $how can be pasted', async ({ name, entry }) => {
  const mcpServers = { [name]: await fillIn(entry) }
  const folder = await temporaryFolder({ 'mcp.json': JSON.stringify({ mcpServers }) })
  const call = ['--method', 'tools/call', '--tool-name', 'Calculator_Add', '--tool-arg', 'a=10', 'b=5']
  const inspected = await inspect('--config', join(folder, 'mcp.json'), '--server', name, ...call)
  expect(inspected).toEqual({
    code: 0,
    result: { content: [{ type: 'text', text: '15' }], structuredContent: { result: 15 } },
  })
})
