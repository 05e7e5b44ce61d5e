/** Requests that a client cancels, in every way that a revision has: the call they started stops, and no other. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { META, STATELESS_VERSION } from '../../src/protocols/mcp/wire.ts'
import { ask, askOlder, send, WITH_TASKS } from './mcp.ts'
import { createStepClock, type Site, startSite } from './server.ts'

/** A handler that runs until its signal aborts. */
function endless() {
  const began = Promise.withResolvers<string>()
  const stopped = Promise.withResolvers<void>()
  const run = (_: unknown, ctx: { requestId: string; signal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => {
      ctx.signal.addEventListener('abort', () => {
        stopped.resolve()
        reject(ctx.signal.reason)
      })
      began.resolve(ctx.requestId)
    })
  return { run, began: began.promise, stopped: stopped.promise }
}

type Endless = ReturnType<typeof endless>

/** Every kind of call that is not a task: it answers to `it_waits`. */
const CALLS = {
  'a plain sync call': ({ run }: Endless) => [operation('v1:it.waits', { run })],
  'a sync call with effects': ({ run }: Endless) => [operation('v1:it.waits', { sideEffecting: true, run })],
  'a sync call that overran': ({ run }: Endless) => [operation('v1:it.waits', { maxSyncMs: 1, run })],
  'an async call': ({ run }: Endless) => [operation('v1:it.waits', { model: 'async', run })],
  'the child of an async call': ({ run }: Endless) => [
    operation('v1:it.works', { model: 'async', run }),
    operation('v1:it.waits', { model: 'async', run: (_, ctx) => ctx.call('v1:it.works', {}) }),
  ],
}

interface Started {
  callOff(): unknown
}

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call' }
const CANCELLED = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }
const STATELESS = { [META.version]: STATELESS_VERSION, [META.capabilities]: {} }
const HEADERS = { 'MCP-Protocol-Version': STATELESS_VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'it_waits' }

const about = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }

async function begin(site: Site): Promise<Record<string, string>> {
  const { headers } = await askOlder(site, 'initialize', about)
  return { 'Mcp-Session-Id': headers.get('mcp-session-id') as string }
}

/** MCP on a pair of streams, with everything written at once. */
function connect(site: Site, ...messages: object[]) {
  const input = new PassThrough()
  const output = new PassThrough({ encoding: 'utf8' })
  const leaving = new AbortController()
  const served = site.server.serveMcp({ input, output, signal: leaving.signal })
  onTestFinished(() => {
    leaving.abort()
    return served
  })
  const write = (...more: object[]) => input.write(more.map((message) => `${JSON.stringify(message)}\n`).join(''))
  write(...messages)
  return { input, output, write, leaving, served }
}

const WAYS: Record<string, (site: Site, meta?: object) => Started | Promise<Started>> = {
  'a closed response': (site, meta = {}) => {
    const leaving = new AbortController()
    const asked = ask(site, 'tools/call', { name: 'it_waits' }, { meta, signal: leaving.signal })
    asked.catch(() => undefined)
    return { callOff: () => leaving.abort() }
  },
  'a closed stream': (site, meta = {}) => {
    const params = { name: 'it_waits', _meta: { ...STATELESS, progressToken: 1, ...meta } }
    const leaving = new AbortController()
    const response = site.request('/mcp', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...HEADERS },
      body: JSON.stringify({ ...CALL, params }),
      signal: leaving.signal,
    })
    response.then((answer) => answer.text()).catch(() => undefined)
    return { callOff: () => leaving.abort() }
  },
  'the notification of an older session': async (site) => {
    const session = await begin(site)
    const asked = send(site, { ...CALL, params: { name: 'it_waits' } }, session)
    return { callOff: async () => [await send(site, CANCELLED, session), await asked] }
  },
  'the notification on standard input': (site) => {
    const { write } = connect(site, { ...CALL, params: { name: 'it_waits', _meta: STATELESS } })
    return { callOff: () => write(CANCELLED) }
  },
  'the notification of an older client on standard input': (site) => {
    const { write } = connect(site, { ...CALL, params: { name: 'it_waits' } })
    return { callOff: () => write(CANCELLED) }
  },
  'a process that is told to end': (site) => {
    const { leaving } = connect(site, { ...CALL, params: { name: 'it_waits' } })
    return { callOff: () => leaving.abort() }
  },
}

const EVERY = Object.keys(WAYS).flatMap((way) => Object.keys(CALLS).map((kind) => [way, kind] as const))

test.each(EVERY)('%s stops %s', async (way, kind) => {
  const handler = endless()
  const site = await startSite({ operations: CALLS[kind as keyof typeof CALLS](handler) })
  const { callOff } = await (WAYS[way] as (typeof WAYS)[string])(site)
  await handler.began

  await callOff()

  await handler.stopped
})

test('a canceled call is recorded as canceled, and the same arguments start a new call', async () => {
  const ids: string[] = []
  const handler = endless()
  const began = Promise.withResolvers<void>()
  const make = operation('v1:it.waits', {
    model: 'async',
    run: (args, ctx) => {
      ids.push(ctx.requestId)
      if (ids.length === 1) return handler.run(args, ctx)
      began.resolve()
      return 'made'
    },
  })
  const site = await startSite({ operations: [make] })
  const leaving = new AbortController()
  const asked = ask(site, 'tools/call', { name: 'it_waits' }, { signal: leaving.signal })
  const requestId = await handler.began

  leaving.abort()
  await expect(asked).rejects.toThrow()
  const ended = await site.ended(requestId)
  const again = await ask(site, 'tools/call', { name: 'it_waits' })

  expect(ended.body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
  expect(again.json.result.content[0].text).toBe('made')
  expect(ids).toHaveLength(2)
})

test('a call off that comes with its call keeps the handler from doing anything', async () => {
  let runs = 0
  const effect = operation('v1:it.waits', { sideEffecting: true, run: () => ++runs })
  const site = await startSite({ operations: [effect] })
  const { output, write } = connect(site, { ...CALL, params: { name: 'it_waits' } }, CANCELLED)

  write({ jsonrpc: '2.0', id: 8, method: 'ping' })

  for await (const line of output) if (JSON.parse(line).id === 8) break
  expect(runs).toBe(0)
})

test('if a request that joined a call by its key leaves, the call continues; if the request that started it leaves, it stops', async () => {
  const handler = endless()
  const make = operation('v1:it.waits', { model: 'async', run: handler.run })
  const site = await startSite({ operations: [make] })
  const meta = { 'callplane/idempotencyKey': 'once' }
  const start = WAYS['a closed response'] as NonNullable<(typeof WAYS)[string]>
  const first = await start(site, meta)
  const requestId = await handler.began
  const second = ask(site, 'tools/call', { name: 'it_waits' }, { meta })
  const leaving = new AbortController()
  const third = ask(site, 'tools/call', { name: 'it_waits' }, { meta, signal: leaving.signal })

  leaving.abort()
  await expect(third).rejects.toThrow()
  const still = await site.poll(requestId)
  first.callOff()

  expect(still.body.state).toBe('pending')
  await handler.stopped
  expect((await second).json.result).toMatchObject({ isError: true })
})

test('a cancellation while a model repeats its request stops the call', async () => {
  const handler = endless()
  const clock = createStepClock()
  const make = operation('v1:it.waits', { model: 'async', run: handler.run })
  const site = await startSite({ operations: [make], clock })
  const told = await clock.passing(ask(site, 'tools/call', { name: 'it_waits' }))
  const requestId = await handler.began
  const before = await site.poll(requestId)
  const start = WAYS['a closed response'] as NonNullable<(typeof WAYS)[string]>
  const { callOff } = await start(site)
  await clock.timer(30_000)

  callOff()

  expect(told.json.result.content[0].text).toContain('still running')
  expect(before.body.state).toBe('pending')
  await handler.stopped
})

test('a client of the older revisions may lose its connection: the call continues, and the same arguments join it', async () => {
  const finish = Promise.withResolvers<string>()
  const began = Promise.withResolvers<void>()
  const make = operation('v1:it.waits', {
    model: 'async',
    run: () => {
      began.resolve()
      return finish.promise
    },
  })
  const site = await startSite({ operations: [make] })
  const session = await begin(site)
  const leaving = new AbortController()
  const asked = send(site, { ...CALL, params: { name: 'it_waits' } }, session, leaving.signal)
  await began.promise

  leaving.abort()
  await expect(asked).rejects.toThrow()
  finish.resolve('made')

  const joined = await send(site, { ...CALL, params: { name: 'it_waits' } }, session)
  expect(joined.json.result.content[0].text).toBe('made')
})

test('a task continues when its client leaves', async () => {
  const handler = endless()
  const make = operation('v1:it.waits', { model: 'async', run: handler.run })
  const site = await startSite({ operations: [make] })
  const { json } = await ask(site, 'tools/call', { name: 'it_waits' }, { capabilities: WITH_TASKS })
  await handler.began

  const { body } = await site.poll(json.result.taskId)

  expect(body.state).toBe('pending')
})

test('a client that takes tasks and leaves before it has one stops the call', async () => {
  const handler = endless()
  const slow = operation('v1:it.waits', { sideEffecting: true, run: handler.run })
  const site = await startSite({ operations: [slow] })
  const leaving = new AbortController()
  const asked = ask(site, 'tools/call', { name: 'it_waits' }, { capabilities: WITH_TASKS, signal: leaving.signal })
  await handler.began

  leaving.abort()

  await expect(asked).rejects.toThrow()
  await handler.stopped
})

test('the end of standard input leaves a moment for the answers, and stops what takes longer', async () => {
  const handler = endless()
  const clock = createStepClock()
  const make = operation('v1:it.waits', { model: 'async', run: handler.run })
  const site = await startSite({ operations: [make], clock })
  const { input, served } = connect(site, { ...CALL, params: { name: 'it_waits' } })
  await handler.began

  input.end()
  await once(input, 'end')
  clock.advance(10_000)

  await handler.stopped
  await clock.passing(served)
})

const envelope = (op: string, requestId: string) => ({
  name: 'call',
  arguments: { op, ctx: { requestId, idempotencyKey: requestId } },
})

test('in the shape of one tool, too, the call of an envelope stops', async () => {
  const handler = endless()
  const make = operation('v1:it.waits', { model: 'async', run: handler.run })
  const site = await startSite({ operations: [make], mcp: { shape: 'call' } })
  const leaving = new AbortController()
  const asked = ask(site, 'tools/call', envelope('v1:it.waits', 'r-1'), { signal: leaving.signal })
  await handler.began

  leaving.abort()

  await expect(asked).rejects.toThrow()
  await handler.stopped
})

test('a call that waits for an approval is withdrawn when the client that asks after it leaves', async () => {
  const askedAgain = Promise.withResolvers<void>()
  let asks = 0
  const site = await startSite({
    operations: [operation('v1:it.pays', { sideEffecting: true, run: () => 'paid' })],
    mcp: { shape: 'call' },
    policy: { default: 'allow', rules: [{ id: 'ask', effect: 'approve', what: { operation: 'v1:it.pays' } }] },
    guards: [{ admit: () => void (++asks === 2 && askedAgain.resolve()) }],
  })
  await ask(site, 'tools/call', envelope('v1:it.pays', 'r-1'))
  const leaving = new AbortController()
  const held = ask(site, 'tools/call', envelope('v1:it.pays', 'r-1'), { signal: leaving.signal })
  await askedAgain.promise

  leaving.abort()

  await expect(held).rejects.toThrow()
  expect((await site.ended('r-1')).body).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })
})
