/**
 * The requests that MCP refuses in every revision and on every transport, and the work that continues when a client
 * leaves.
 */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ask, askOlder } from '../scenarios/mcp.ts'
import { createGate, type Site, startSite } from '../scenarios/server.ts'

const hello = operation('v2:it.greets', {
  args: z.object({ name: z.string() }),
  run: ({ name }) => `Hello ${name}`,
})

const gone = operation('v1:it.greets', { deprecated: { sunset: '2020-01-01' }, run: () => 'too late' })
const operations = [gone, hello]

test.each([
  ['of a major that never was', 'it_greets_v3'],
  ['of a removed major version', 'it_greets_v1'],
  ['as OpenCALL has it', 'v2:it.greets'],
  ['as OXP has it', 'it.greets@2.0.0'],
  ['in capitals', 'IT_GREETS'],
  ['that objects inherit', 'constructor'],
])('a name %s is not a tool, in either generation', async (_, name) => {
  const site = await startSite({ operations })
  for (const asking of [ask, askOlder]) {
    const { status, json } = await asking(site, 'tools/call', { name, arguments: { name: 'Ann' } })
    expect([status, json.error.code]).toEqual([200, -32602])
    expect(json.error.message).toContain('tools/list')
  }
})

/** Everything that is answered to these lines. */
async function exchange(site: Site, lines: readonly string[]): Promise<{ id: unknown; error?: { code: number } }[]> {
  const input = new PassThrough()
  const output = new PassThrough()
  const served = site.server.serveMcp({ input, output, signal: new AbortController().signal })
  input.end(lines.map((line) => `${line}\n`).join(''))
  await served
  output.end()
  const answers = (await text(output)).trim().split('\n')
  return answers.map((line) => JSON.parse(line))
}

test('on a pair of streams a batch, an unknown revision and wrong arguments are answered as over HTTP', async () => {
  const site = await startSite({ operations })
  const request = (id: number, params: object) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'it_greets', ...params } })
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2031-01-01',
    'io.modelcontextprotocol/clientCapabilities': {},
  }

  const answers = await exchange(site, [
    `[${request(1, {})}]`,
    request(2, { _meta: meta }),
    request(3, { arguments: { name: 7 } }),
    request(4, { arguments: { name: 'Ann' } }),
  ])

  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  expect(answers).toHaveLength(4)
  expect(byId.get(null)).toMatchObject({ error: { code: -32600 } })
  expect(byId.get(2)).toMatchObject({ error: { code: -32022, data: { supported: ['2026-07-28'] } } })
  expect(byId.get(3)).toMatchObject({
    result: { isError: true, content: [{ text: expect.stringContaining('/name') }] },
  })
  expect(byId.get(4)).toMatchObject({ result: { content: [{ text: 'Hello Ann' }] } })
})

test('a client that still listens for changes when its input ends keeps nothing open', async () => {
  const site = await startSite({ operations })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { notifications: { toolsListChanged: true }, _meta }

  const answers = await exchange(site, [
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
  ])

  expect(answers.at(-1)).toMatchObject({ id: 1, result: { resultType: 'complete' } })
})

test('a client that leaves during progress messages stops nothing: the call continues, and its key joins it', async () => {
  const gate = createGate()
  const signals: AbortSignal[] = []
  const make = operation('v1:reports.make', {
    model: 'async',
    run: (_, ctx) => {
      signals.push(ctx.signal)
      ctx.progress(0.5, 'half way')
      return gate.pass()
    },
  })
  const other = operation('v1:reports.other', { model: 'async', run: () => 'another' })
  const noticed = Promise.withResolvers<void>()
  const logTo = { write: (line: string) => void (line.includes('"path":"/mcp"') && noticed.resolve()) }
  const site = await startSite({ operations: [make, other], log: 'info', requestLog: true, logTo })
  const leaving = new AbortController()
  const _meta = { progressToken: 1, 'callplane/idempotencyKey': 'once' }
  const response = await site.request('/mcp', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'reports_make', _meta } }),
    signal: leaving.signal,
  })
  const events = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  expect((await events?.read())?.value).toContain('half way')

  leaving.abort()
  await expect(events?.read()).rejects.toThrow()
  await noticed.promise
  // Whatever the server did about it was written before this is.
  await ask(site, 'tools/call', { name: 'reports_other' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  gate.open('made')

  const joined = await ask(site, 'tools/call', { name: 'reports_make' }, { meta: _meta })
  expect(joined.json.result.content[0].text).toBe('made')
  expect(signals).toHaveLength(1)
})
