import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { WIRES } from '../../console/src/explore/wires/index.ts'
import { sliceOf } from '../../console/src/explore/wires/json-slice.ts'
import { findToolName } from '../../console/src/explore/wires/tool-names.ts'
import type { Entry, Outcome, Wire, WireCall, WireRequest } from '../../console/src/explore/wires/wire.ts'
import { type Site, startSite } from '../scenarios/server.ts'

const any = z.any()

const operations = [
  operation('v1:values.echo', { args: z.object({ value: any }), run: ({ value }) => value }),
  operation('v1:Texts.shout', {
    args: z.object({ text: z.string() }),
    result: z.string(),
    run: ({ text }) => text.toUpperCase(),
  }),
  operation('v1:plain', { args: z.object({}), result: z.object({ plain: z.boolean() }), run: () => ({ plain: true }) }),
  operation('v1:a-b.c_D.e-f', { result: z.string(), run: () => 'odd names' }),
  operation('v1:versions.tell', { result: z.string(), run: () => 'one' }),
  operation('v1:versions.tell', { version: '1.3.0', result: z.string(), run: () => 'one, later' }),
  operation('v2:versions.tell', { result: z.string(), run: () => 'two' }),
  operation('v1:slow.work', { model: 'async', ttlSeconds: 60, result: z.number(), run: () => 7 }),
  operation('v1:notes.add', { sideEffecting: true, ttlSeconds: 60, result: z.string(), run: (_args, { key }) => key }),
  operation('v1:doors.open', {
    errors: { LOCKED: { description: 'It is locked.' } },
    run: (_args, ctx) => ctx.fail('LOCKED', 'The door is locked.'),
  }),
  operation('v1:pictures.draw', {
    ttlSeconds: 60,
    run: (_args, ctx) => ctx.object('<svg xmlns="http://www.w3.org/2000/svg"/>', { mimeType: 'image/svg+xml' }),
  }),
  operation('v1:orders.export', {
    chunked: { mimeType: 'text/csv' },
    ttlSeconds: 60,
    async *run() {
      yield 'a,b\n'
      yield '1,2\n'
    },
  }),
  operation('v1:files.size', {
    media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
    result: z.number(),
    run: async (_args, ctx) => (await ctx.media.file.bytes()).length,
  }),
  operation('v1:ticks.watch', {
    frame: z.object({ n: z.number() }),
    async *run() {
      yield { n: 1 }
    },
  }),
]

const serve = (options = {}) => startSite({ operations, rest: { allowExecute: true }, ...options })

async function registryOf({ request }: Site): Promise<Entry[]> {
  const { operations: entries } = (await (await request('/.well-known/ops')).json()) as { operations: Entry[] }
  return entries
}

async function prepare(site: Site, op: string, args: string, more: Partial<WireCall> = {}): Promise<WireCall> {
  const entries = await registryOf(site)
  const entry = entries.find((known) => known.op === op)
  if (!entry) throw new Error(`no ${op}`)
  const get = async (path: string) => {
    const response = await site.request(`/${path}`)
    return response.ok ? response.json() : undefined
  }
  const tool = await findToolName(entry, entries, get)
  const id = crypto.randomUUID()
  return { entry, argsText: args, requestId: id, idempotencyKey: id, ...(tool && { tool }), ...more }
}

/** Sends the request, and those that the outcome names, until there is an end. */
async function carry(site: Site, wire: Wire, call: WireCall): Promise<Outcome> {
  let request: WireRequest = wire.encode(call)
  for (;;) {
    const { method, path, headers, body } = request
    const response = await site.request(`/${path}`, {
      method,
      headers: { ...headers },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    const outcome = wire.decode({ status: response.status, header: (name) => response.headers.get(name), text }, call)
    if (outcome.kind !== 'running') return outcome
    request = outcome.next
  }
}

/** One outcome per wire, each with a key of its own. */
async function everywhere(site: Site, op: string, args = '{}'): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {}
  for (const wire of WIRES) outcomes[wire.id] = await carry(site, wire, await prepare(site, op, args))
  return outcomes
}

const VALUES = [
  '{"a":1,"result":"x","content":[1]}',
  '[1,"two",null]',
  '5',
  '"text"',
  'true',
  'null',
  '""',
  '{}',
  '{"result":"{}"}',
]

test.each(VALUES)('six wires give the same result: %s', async (value) => {
  const site = await serve()

  const outcomes = await everywhere(site, 'v1:values.echo', `{"value":${value}}`)

  const same = { kind: 'result', json: value }
  expect(outcomes).toEqual({ opencall: same, mcp: same, oxp: same, otc: same, rest: same, contract: same })
})

test.each([
  ['v1:Texts.shout', '{"text":"12"}', '"12"'],
  ['v1:plain', '{}', '{"plain":true}'],
  ['v1:a-b.c_D.e-f', '{}', '"odd names"'],
  ['v1:versions.tell', '{}', '"one, later"'],
  ['v2:versions.tell', '{}', '"two"'],
  ['v1:slow.work', '{}', '7'],
])('%s gives the same result on six wires', async (op, args, json) => {
  const site = await serve({ toolkit: 'house' })

  const outcomes = await everywhere(site, op, args)

  expect(new Set(Object.values(outcomes).map((outcome) => JSON.stringify(outcome)))).toEqual(
    new Set([JSON.stringify({ kind: 'result', json })]),
  )
})

test('one key on six wires runs an operation with effects once', async () => {
  const site = await serve()
  const call = await prepare(site, 'v1:notes.add', '{}')

  const outcomes: Outcome[] = []
  for (const wire of WIRES) outcomes.push(await carry(site, wire, call))

  // The Tool Execution API pins the version, so that it is another call to the server, and refused.
  const [first, ...others] = outcomes.filter(({ kind }) => kind === 'result')
  expect(others).toEqual([first, first, first, first])
  expect(outcomes.filter(({ kind }) => kind === 'failure')).toMatchObject([{ code: 'IDEMPOTENCY_KEY_REUSED' }])
})

test('a failure has its message on six wires, and its code where the wire has one', async () => {
  const site = await serve()

  const outcomes = await everywhere(site, 'v1:doors.open')

  for (const outcome of Object.values(outcomes)) {
    expect(outcome).toMatchObject({ kind: 'failure', message: expect.stringContaining('The door is locked.') })
  }
  expect(outcomes).toMatchObject({ opencall: { code: 'LOCKED' }, mcp: { code: 'LOCKED' }, rest: { code: 'LOCKED' } })
})

test.each([
  ['v1:pictures.draw', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['v1:orders.export', 'text/csv', 'a,b\n1,2\n'],
])('%s is the same bytes on six wires', async (op, mimeType, content) => {
  const site = await serve()

  const outcomes = await everywhere(site, op)

  for (const [wire, outcome] of Object.entries(outcomes)) {
    expect([wire, ...(await bytesOf(outcome))]).toEqual([wire, content, mimeType])
  }
})

/** The address of a chunked result gives its chunks. Here is only one. */
async function bytesOf(outcome: Outcome): Promise<[text: string, type: string | null]> {
  if (outcome.kind === 'bytes') return [outcome.text ?? atob(outcome.base64 ?? ''), outcome.mimeType]
  if (outcome.kind !== 'file') throw new Error(JSON.stringify(outcome))
  const response = await fetch(outcome.uri, { headers: { Accept: 'application/octet-stream' } })
  return [await response.text(), outcome.mimeType ?? response.headers.get('content-type')]
}

test('MCP carries files; the other protocols of tools say that they cannot', async () => {
  const site = await serve()
  const attachments = [{ name: 'file', mimeType: 'text/plain', base64: btoa('12345') }]
  const call = await prepare(site, 'v1:files.size', '{}', { attachments })

  const refusals = Object.fromEntries(WIRES.map((wire) => [wire.id, wire.refusal(call)]))

  expect(refusals).toEqual({
    opencall: undefined,
    mcp: undefined,
    oxp: 'file',
    otc: 'file',
    rest: 'file',
    contract: 'file',
  })
  const mcp = WIRES.find(({ id }) => id === 'mcp') as Wire
  expect(await carry(site, mcp, call)).toEqual({ kind: 'result', json: '5' })
})

test('only OpenCALL carries a stream', async () => {
  const site = await serve()
  const call = await prepare(site, 'v1:ticks.watch', '{}')

  expect(WIRES.map((wire) => wire.refusal(call))).toEqual([
    undefined,
    'stream-needs-task',
    'stream',
    'stream',
    'stream',
    'stream',
  ])
  expect(await carry(site, WIRES[0] as Wire, call)).toMatchObject({ kind: 'stream', place: { encoding: 'json' } })
})

test('arguments reach the body byte for byte', () => {
  const argsText = '{ "b": 12345678901234567890, "a":\t1.0 }'
  const call: WireCall = { entry: { op: 'v1:x.y' }, argsText, requestId: 'r', idempotencyKey: 'k' }

  for (const wire of WIRES) expect(wire.encode(call).body).toContain(argsText)
})

test('a member is found in text, as it is written there', () => {
  const text = ' {"a" : {"b": [1, "]}\\"\\\\"], "\\u0063":2} , "a\\"": 3,"n":12345678901234567890}'

  expect(sliceOf(text, 'a', 'b')).toBe('[1, "]}\\"\\\\"]')
  expect(sliceOf(text, 'a', 'c')).toBe('2')
  expect(sliceOf(text, 'a"')).toBe('3')
  expect(sliceOf(text, 'n')).toBe('12345678901234567890')
  expect(sliceOf(text, 'x')).toBeUndefined()
  expect(sliceOf('[1]', 'x')).toBeUndefined()
})
