import { createHmac } from 'node:crypto'
import { type OperationDefinition, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { ToolExecutionResponse } from '../../src/protocols/contract/wire.ts'
import { verifies } from '../requirements.ts'
import { createStepClock, type Site, startSite, temporaryFolder } from '../scenarios/server.ts'
import { openTool, type Respond, requestIn, responseTo, type ToolServer } from './tool-server.ts'

/** Fails at the first try, in a way that is worth a second one. */
function failsFirst(answer: Respond): Respond {
  let requests = 0
  return (asked, response, request) => {
    if (requests++ === 0) response.writeHead(503).end()
    else answer(asked, response, request)
  }
}

const answer: Respond = (asked, response) => response.end(responseTo(requestIn(asked)))

const KINDS: [kind: string, tool: Respond][] = [
  ['http', ({ body }, response) => response.end(body)],
  ['external', answer],
  ['webhook', answer],
]

function declare(kind: string, tool: ToolServer, more: object = {}, settings: object = {}): OperationDefinition {
  const backend = { kind, endpoint: `${tool.url}/run`, allowPrivate: true, ...settings }
  return operation('v1:remote.run', { ...more, backend } as never)
}

async function execute(site: Site, input: object): Promise<ToolExecutionResponse> {
  const body = JSON.stringify({ request_id: 'r1', tool: { name: 'remote_run' }, input })
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
  return (await (await site.request('/tool-contract/v1/execute', init)).json()) as ToolExecutionResponse
}

test.each(KINDS)(
  '%s: the answer says which try it is from, and every try has one request id',
  async (kind, respond) => {
    verifies('contract:123')
    const tool = await openTool(failsFirst(respond))
    const retry = { attempts: 3, backoffMs: 1 }
    const site = await startSite({ operations: [declare(kind, tool, { retry })] })

    const response = await execute(site, { n: 1 })

    expect(response).toMatchObject({ status: 'ok', output: { n: 1 }, usage: { attempt: 2 } })
    const ids = tool.asked.map((asked) => asked.headers['x-request-id'] ?? requestIn(asked).request_id)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
  },
)

test.each(KINDS)('%s: a tool that hangs ends in a timeout, and hears of it', async (kind) => {
  verifies('contract:121', 'contract:125')
  const tool = await openTool(() => {})
  const site = await startSite({ operations: [declare(kind, tool, { timeoutMs: 50 })] })

  const response = await execute(site, {})

  expect(response).toMatchObject({ status: 'error', error: { code: 'timeout', details: { timeout_ms: 50 } } })
  await tool.stopped
})

test.each(KINDS)('%s: a call that is canceled is canceled at the tool', async (kind) => {
  verifies('contract:122')
  const tool = await openTool(() => {})
  const site = await startSite({ operations: [declare(kind, tool, { model: 'async' })] })
  const { body } = await site.call('v1:remote.run', {}, { requestId: crypto.randomUUID() })
  await tool.begun

  const canceled = await site.request(`/ops/${body.requestId}`, { method: 'DELETE' })

  expect(canceled.ok).toBe(true)
  await tool.stopped
})

/** Takes its time: until there is a result for a call, whoever asks is told to come again. */
async function openSlowTool() {
  const results = new Map<string, string>()
  const questioned = Promise.withResolvers<void>()
  const tool = await openTool(({ method, path }, response) => {
    if (method === 'GET') questioned.resolve()
    const done = results.get(path.split('/').at(-1) ?? '')
    if (done === undefined) response.writeHead(202).end()
    else response.end(done)
  })
  return { tool, results, questioned: questioned.promise }
}

test('a server that is restarted while the tool works takes the answer, and hands the call over once', async () => {
  verifies('contract:143')
  const { tool, results, questioned } = await openSlowTool()
  const data = temporaryFolder()
  const operations = [declare('webhook', tool, { model: 'async', sideEffecting: true }, { pollMs: 20 })]
  const first = await startSite({ operations, data })
  const requestId = crypto.randomUUID()
  await first.call('v1:remote.run', { n: 1 }, { requestId, idempotencyKey: 'k1' })
  await questioned

  await first.close()
  const second = await startSite({ operations, data })
  const request = requestIn(tool.asked[0] as never)
  results.set(request.request_id, responseTo(request))

  expect((await second.ended(requestId)).body).toMatchObject({ state: 'complete', result: { n: 1 } })
  expect(tool.asked.filter(({ method }) => method === 'POST')).toHaveLength(1)
  expect(tool.asked.some(({ method }) => method === 'DELETE')).toBe(false)
})

test('an answer that is delivered ends the wait at once; a second one comes too late', async () => {
  verifies('contract:145')
  const { tool } = await openSlowTool()
  process.env.CALLPLANE_SECRET_RENDER_KEY = 'between us'
  onTestFinished(() => void delete process.env.CALLPLANE_SECRET_RENDER_KEY)
  const settings = { pollMs: 3_600_000, callback: { secretRef: 'render-key' } }
  const site = await startSite({ operations: [declare('webhook', tool, { model: 'async' }, settings)] })
  const requestId = crypto.randomUUID()
  await site.call('v1:remote.run', { n: 1 }, { requestId })
  await tool.begun
  const { request_id: id } = requestIn(tool.asked[0] as never)
  const push = async (body: string, secret = 'between us') => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
    return (await site.request(`/v1/tool-callbacks/${id}`, { method: 'POST', headers, body })).status
  }
  const done = responseTo(requestIn(tool.asked[0] as never))

  expect(await push(done, 'a guess')).toBe(401)
  expect(await push(done.replace('"n":1', '"n":2'))).toBe(202)

  expect((await site.ended(requestId)).body).toMatchObject({ state: 'complete', result: { n: 2 } })
  expect(await push(done)).toBe(409)
})

test('a wait that outlasts its time is a timeout, and the tool hears of it', async () => {
  verifies('contract:144')
  const { tool } = await openSlowTool()
  const clock = createStepClock()
  const site = await startSite({ clock, operations: [declare('webhook', tool, { model: 'async', timeoutMs: 5_000 })] })
  const requestId = crypto.randomUUID()
  await site.call('v1:remote.run', {}, { requestId })

  const ended = await clock.passing(site.ended(requestId), 100)

  expect(ended.body).toMatchObject({ state: 'error' })
  expect(tool.asked.at(-1)?.method).toBe('DELETE')
})
