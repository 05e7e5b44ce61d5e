/** Servers on one Postgres that have imported different tools of an MCP server. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importTools, operation } from 'callplane'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { createGate, type Site, temporaryFolder } from '../scenarios/server.ts'
import { newSchema, startNodes, WORK } from './sites.ts'

/** An MCP server. Its tools return their name. */
const PROGRAM = `
  const tools = JSON.parse(process.argv[2])
  const results = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'kit', version: '1' } }),
    'tools/list': () => ({ tools }),
    'tools/call': ({ name }) => ({ content: [{ type: 'text', text: name }] }),
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    const answer = results[method] ? { result: results[method](params) } : { error: { code: -32601, message: 'unknown' } }
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })`

/** Tools by name, each with the type of its argument. */
function kitOf(tools: Record<string, string>) {
  const listed = Object.entries(tools).map(([name, type]) => ({
    name,
    annotations: { readOnlyHint: true },
    inputSchema: { type: 'object', properties: { copies: { type } }, required: ['copies'] },
  }))
  const program = join(temporaryFolder(), 'kit.cjs')
  writeFileSync(program, PROGRAM)
  const command = { command: process.execPath, args: [program, JSON.stringify(listed)] }
  return importTools({ kind: 'mcp', as: 'v1:kit.*', ...command }, { model: 'async' })
}

describeWith(postgresServer, 'servers with different imports', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterAll(() => postgres[Symbol.asyncDispose]())

  /** A server whose only slot is taken, so that its calls run elsewhere, and another server. */
  async function startPair(schema: string, busyTools: Record<string, string>, otherTools: Record<string, string>) {
    const gate = createGate<null>()
    const block = operation('v1:block', { model: 'async', run: () => gate.pass() })
    const options = { operations: [block], work: { ...WORK, claimEveryMs: 100 }, data: temporaryFolder() }
    const limits = { runningCalls: 1 }
    const each = [{ imports: [kitOf(busyTools)], limits }, { imports: [kitOf(otherTools)] }]
    const [busy, other] = (await startNodes(postgres, { options, each, schema })) as [Site, Site]
    // Tools are imported after the start.
    const offersKit = async (site: Site) => (await (await site.request('/.well-known/ops')).text()).includes('v1:kit.')
    for (const site of [busy, other]) await expect.poll(() => offersKit(site), { timeout: 20_000 }).toBe(true)
    await busy.call('v1:block')
    await gate.began
    return { busy, other, options, free: () => gate.open(null) }
  }

  test('a call waits for a server that has its tool', async () => {
    const schema = newSchema()
    const { busy, other, options, free } = await startPair(
      schema,
      { print: 'integer', scan: 'integer' },
      { print: 'integer' },
    )
    const args = { copies: 1 }

    const unknown = await other.call('v1:kit.scan', args)
    await busy.call('v1:kit.scan', args, { requestId: 'scan' })
    await busy.call('v1:kit.print', args, { requestId: 'print' })
    const printed = await other.ended('print')
    const waiting = await other.poll('scan')
    await startNodes(postgres, { options: { ...options, imports: [kitOf({ scan: 'integer' })] }, count: 1, schema })
    const scanned = await other.ended('scan')
    free()
    // The third server is closed with its schema.
    await Promise.all([busy, other].map((site) => site.close()))

    expect(unknown.status).toBe(400)
    expect(printed.body).toMatchObject({ state: 'complete' })
    expect(JSON.stringify(printed.body.result)).toContain('print')
    expect(waiting.body.state).toBe('accepted')
    expect(JSON.stringify(scanned.body.result)).toContain('scan')
  }, 60_000)

  test('the server that runs a call validates it by its own schema of the tool', async () => {
    const { busy, free } = await startPair(newSchema(), { print: 'integer' }, { print: 'string' })

    const accepted = await busy.call('v1:kit.print', { copies: 1 }, { requestId: 'print' })
    const ended = await busy.ended('print')
    free()

    expect(accepted.status).toBe(202)
    expect(ended.body).toMatchObject({ state: 'error', error: { code: 'VALIDATION_ERROR' } })
  }, 60_000)
})
