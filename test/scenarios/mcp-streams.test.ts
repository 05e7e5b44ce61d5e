/** Streams over MCP: a task that keeps the last frames, and log messages with the frames for clients that want them. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { jsonSchema, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { META, STATELESS_VERSION } from '../../src/protocols/mcp/wire.ts'
import { verifies } from '../requirements.ts'
import { readEvents } from '../streams/sse.ts'
import { ask, askOlder, listen, type Result, type Streamed, send, WITH_TASKS } from './mcp.ts'
import { createGate, type Site, startSite, temporaryFolder } from './server.ts'

const N = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })
const COUNT = jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } })
const UNLIMITED = { limits: { pollBurst: 10_000 } }

const ticks = operation('v1:clock.ticks', {
  args: COUNT,
  frame: N,
  ttlSeconds: 120,
  *run({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
  },
})

const endless = operation('v1:clock.endless', {
  frame: N,
  async *run(_, { signal }) {
    yield { n: 1 }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})

async function begin(site: Site, name: string, args: object = {}): Promise<string> {
  const { json } = await ask(site, 'tools/call', { name, arguments: args }, { capabilities: WITH_TASKS })
  expect(json.result).toMatchObject({ resultType: 'task', status: 'working' })
  return json.result.taskId
}

async function ended(site: Site, taskId: string): Promise<Result> {
  for (;;) {
    const { json } = await ask(site, 'tasks/get', { taskId }, { capabilities: WITH_TASKS })
    if (json.result.status !== 'working') return json.result
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** `tasks/get` with a log level, as a stream of messages. */
function follow(site: Site, taskId: string) {
  return listen(site, logged(taskId, 'info'), headersFor('tasks/get', taskId))
}

function logged(taskId: string, level: string) {
  const _meta = { [META.version]: STATELESS_VERSION, [META.capabilities]: WITH_TASKS, [META.logLevel]: level }
  return { jsonrpc: '2.0', id: 'r-1', method: 'tasks/get', params: { taskId, _meta } }
}

function headersFor(method: string, name: string) {
  return { 'MCP-Protocol-Version': STATELESS_VERSION, 'Mcp-Method': method, 'Mcp-Name': name }
}

test('to OpenCALL, the stream of a task is where a reader over OpenCALL finds it', async () => {
  verifies('opencall:064')
  for (const [websocket, transport, scheme] of [
    [true, 'wss', 'ws'],
    [false, 'sse', 'http'],
  ] as const) {
    const site = await startSite({ operations: [endless], websocket })
    const taskId = await begin(site, 'clock_endless')

    const { stream } = (await site.poll(taskId)).body

    expect(stream).toMatchObject({ transport, location: expect.stringMatching(`^${scheme}://[^/]+/streams/`) })
    const reader = await readEvents(String(stream?.location).replace(/^ws/, 'http'))
    expect(reader.status).toBe(200)
    reader.leave()
  }
})

test('a stream is a tool for clients with tasks only, unless it names other transports or is audio or video', async () => {
  const elsewhere = operation('v1:clock.elsewhere', { frame: N, stream: { transports: ['wss'] }, run: () => [] })
  const here = operation('v1:clock.here', { frame: N, stream: { transports: ['wss', 'mcp'] }, run: () => [] })
  const sound = operation('v1:clock.sound', {
    frame: jsonSchema<never>({}),
    stream: { track: { kind: 'audio', codec: 'opus' } },
    run: () => [],
  })
  const site = await startSite({ operations: [ticks, elsewhere, here, sound] })

  const { json: listed } = await ask(site, 'tools/list', {}, { capabilities: WITH_TASKS })
  const { json: without } = await ask(site, 'tools/list')
  const { json: older } = await askOlder(site, 'tools/list')
  const { json: refused } = await ask(site, 'tools/call', { name: 'clock_ticks', arguments: { count: 1 } })

  expect(listed.result.tools.map(({ name }) => name)).toEqual(['clock_here', 'clock_ticks'])
  expect(listed.result.tools[1].outputSchema.required).toEqual(['frames', 'dropped', 'ended', 'last'])
  expect(without.result.tools).toEqual([])
  expect(older.result.tools).toEqual([])
  expect(refused.error).toMatchObject({ code: -32021, data: { requiredCapabilities: WITH_TASKS } })
})

test('the result has the last frames, bounded, also after a restart', async () => {
  const data = temporaryFolder()
  const site = await startSite({ operations: [ticks], data, ...UNLIMITED })
  const taskId = await begin(site, 'clock_ticks', { count: 1_000 })
  const { result } = await ended(site, taskId)
  await site.close()
  const after = await startSite({ operations: [ticks], data, ...UNLIMITED })

  const last = Array.from({ length: 50 }, (_, at) => ({ n: 951 + at }))
  const expected = { frames: 1_000, dropped: 0, ended: 'done', last }
  expect(result.structuredContent).toEqual(expected)
  expect(result.content[0].text).toBe(JSON.stringify(expected))
  expect((await ended(after, taskId)).result).toEqual(result)
})

test('large frames are left out of the result; bytes are base64; integrity headers are removed', async () => {
  const large = operation('v1:it.large', {
    frame: jsonSchema<string>({ type: 'string' }),
    run: () => ['a'.repeat(20_000), 'b'.repeat(200_000), 'c'.repeat(20_000)],
  })
  const binary = operation('v1:it.binary', {
    frame: jsonSchema<never>({}),
    stream: { encodings: ['binary'], integrity: 'crc32' },
    run: () => [Uint8Array.of(1, 2, 255)] as never,
  })
  const numbered = operation('v1:it.numbered', { frame: N, stream: { integrity: 'sha256' }, run: () => [{ n: 7 }] })
  const site = await startSite({ operations: [large, binary, numbered], ...UNLIMITED })

  const lastOf = async (name: string) => (await ended(site, await begin(site, name))).result.structuredContent

  expect(await lastOf('it_large')).toMatchObject({ frames: 3, last: ['c'.repeat(20_000)] })
  expect(await lastOf('it_binary')).toMatchObject({ frames: 1, last: ['AQL/'] })
  expect(await lastOf('it_numbered')).toMatchObject({ frames: 1, last: [{ n: 7 }] })
})

test('canceling the task unsubscribes: the handler stops, and the last frames are there', async () => {
  const stopped = Promise.withResolvers<void>()
  const watched = operation('v1:clock.watched', {
    frame: N,
    async *run(_, { signal }) {
      yield { n: 1 }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      stopped.resolve()
    },
  })
  const site = await startSite({ operations: [watched], ...UNLIMITED })
  const taskId = await begin(site, 'clock_watched')
  const frames = await follow(site, taskId)
  expect((await frames.next()).params.data).toEqual({ n: 1 })

  const { json } = await ask(site, 'tasks/cancel', { taskId }, { capabilities: WITH_TASKS })
  await stopped.promise

  expect(json.result).toEqual({ resultType: 'complete' })
  const { status, result } = (await frames.next()).result
  expect(status).toBe('completed')
  expect(result.structuredContent).toEqual({ frames: 1, dropped: 0, ended: 'unsubscribed', last: [{ n: 1 }] })
})

test('a handler waits for a client that listens and is slow; nothing gets lost', async () => {
  const gate = createGate()
  let made = 0
  const fast = operation('v1:clock.fast', {
    frame: jsonSchema<{ n: number; filling: string }>({ type: 'object' }),
    async *run() {
      await gate.pass()
      while (made < 2_000) yield { n: ++made, filling: 'x'.repeat(10_000) }
    },
  })
  const site = await startSite({ operations: [fast], ...UNLIMITED })
  const taskId = await begin(site, 'clock_fast')
  const frames = await follow(site, taskId)
  gate.open(undefined)

  for (let n = 1; n <= 2_000; n++) expect((await frames.next()).params.data).toMatchObject({ n })
  expect((await frames.next()).result).toMatchObject({
    status: 'completed',
    result: { structuredContent: { frames: 2_000 } },
  })
})

test('a stream that fails tells the client that listens, and a shutdown ends it', async () => {
  const failing = operation('v1:clock.fails', {
    frame: N,
    *run(_, ctx) {
      yield { n: 1 }
      ctx.fail('NO_POWER', 'The clock has no power.')
    },
  })
  const site = await startSite({ operations: [failing, endless], ...UNLIMITED })
  const failed = await ended(site, await begin(site, 'clock_fails'))
  const running = await follow(site, await begin(site, 'clock_endless'))
  await running.next()
  await site.close()

  expect(failed).toMatchObject({ status: 'completed', result: { isError: true } })
  expect(failed.result.content[0].text).toContain('The clock has no power.')
})

test('the official task session waits for the result, and gets the frames as log messages if it asks for them', async () => {
  const gate = createGate()
  const paused = operation('v1:clock.paused', {
    frame: N,
    async *run() {
      yield { n: 1 }
      await gate.pass()
      yield { n: 2 }
    },
  })
  const site = await startSite({ operations: [paused], ...UNLIMITED })
  const { client, session, messages } = await openTaskSession(site, (message) => {
    if (message.method === 'notifications/message') gate.open(undefined)
  })

  const { tools } = await client.listTools()
  const execution = await session.callTool('clock_paused', {})
  const { outcome } = await execution.settle()

  expect(tools.map(({ name }) => name)).toEqual(['clock_paused'])
  const frames = messages.filter(({ method }) => method === 'notifications/message')
  expect(frames.map(({ params }) => params)).toEqual([
    { level: 'info', logger: expect.any(String), data: { n: 1 } },
    { level: 'info', logger: expect.any(String), data: { n: 2 } },
  ])
  expect(resultFromTaskOutcome(outcome)).toMatchObject({
    structuredContent: { frames: 2, dropped: 0, ended: 'done', last: [{ n: 1 }, { n: 2 }] },
  })
})

test('without a log level, or with warnings only, a poll answers at once and has no frames', async () => {
  const site = await startSite({ operations: [endless], ...UNLIMITED })
  const taskId = await begin(site, 'clock_endless')

  const quiet = await ask(site, 'tasks/get', { taskId }, { capabilities: WITH_TASKS })
  const warned = await send(site, logged(taskId, 'warning'), {
    ...headersFor('tasks/get', taskId),
    Accept: 'application/json, text/event-stream',
  })

  expect(quiet.json.result.status).toBe('working')
  expect(warned.json.result.status).toBe('working')
})

/** The official client and its task session, which sends its requests with a log level. `heard` gets every message. */
async function openTaskSession(site: Site, heard: (message: Streamed) => void) {
  const clientInfo = { name: 'test', version: '1.0.0' }
  const client = new Client(clientInfo, { versionNegotiation: { mode: 'auto' }, capabilities: WITH_TASKS })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${site.url}/mcp`)))
  onTestFinished(() => client.close())
  const messages: Streamed[] = []
  const session = createTaskSessionFromClient(client, {
    endpointId: 'site',
    v2RequestFraming: { protocolVersion: STATELESS_VERSION, clientInfo, clientCapabilities: WITH_TASKS },
    async rawDispatch(framed) {
      const request = framed as { method: string; params: { name?: string; taskId?: string; _meta: object } }
      const { method, params } = request
      const logging = {
        jsonrpc: '2.0',
        id: 1,
        ...request,
        params: { ...params, _meta: { ...params._meta, [META.logLevel]: 'info' } },
      }
      const stream = await listen(site, logging, headersFor(method, params.name ?? params.taskId ?? ''))
      for (;;) {
        const message = await stream.next()
        messages.push(message)
        heard(message)
        if (message.result) return { kind: 'result', result: message.result as never }
      }
    },
  })
  onTestFinished(() => session.close())
  return { client, session, messages }
}
