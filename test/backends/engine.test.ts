import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { Code, ConnectError } from '@connectrpc/connect'
import { type OperationDefinition, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { ToolExecutionResponse } from '../../src/protocols/contract/wire.ts'
import { startGrpcTool } from '../protocols/contract/peer.ts'
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

interface RemoteTool {
  /** As an operation that runs it. */
  declare(rules: object): OperationDefinition
  /** The request id of every request that it got. */
  ids(): string[]
  begun: Promise<void>
  stopped: Promise<void>
}

type Open = (behaviour: 'fails first' | 'hangs') => Promise<RemoteTool>

const KINDS: [kind: string, open: Open][] = [
  ['http', overHttp('http', ({ body }, response) => response.end(body))],
  ['external', overHttp('external', answer)],
  ['webhook', overHttp('webhook', answer)],
  ['grpc', overGrpc],
]

function overHttp(kind: string, respond: Respond): Open {
  return async (behaviour) => {
    const tool = await openTool(behaviour === 'hangs' ? () => {} : failsFirst(respond))
    const { begun, stopped } = tool
    const ids = () => tool.asked.map((asked) => String(asked.headers['x-request-id'] ?? requestIn(asked).request_id))
    return { declare: (rules) => declare(kind, tool, rules), ids, begun, stopped }
  }
}

async function overGrpc(behaviour: Parameters<Open>[0]): Promise<RemoteTool> {
  let requests = 0
  const tool = await startGrpcTool(({ request_id, input }, { signal }) => {
    if (behaviour === 'hangs') return once(signal, 'abort').then(() => ({}))
    if (requests++ === 0) throw new ConnectError('Not at the first try.', Code.Unavailable)
    return { request_id, status: 'ok', output: input }
  })
  const url = `http://127.0.0.1:${tool.port}`
  const { begun, stopped } = tool
  return {
    declare: (rules) => declare('grpc', { url }, rules, { endpoint: url, plaintext: true }),
    ids: () => tool.requests.map(({ body }) => body.request_id),
    begun,
    stopped,
  }
}

function declare(
  kind: string,
  { url }: Pick<ToolServer, 'url'>,
  more: object = {},
  settings: object = {},
): OperationDefinition {
  const backend = { kind, endpoint: `${url}/run`, allowPrivate: true, ...settings }
  return operation('v1:remote.run', { ...more, backend } as never)
}

async function execute(site: Site, input: object): Promise<ToolExecutionResponse> {
  const body = JSON.stringify({ request_id: 'r1', tool: { name: 'remote_run' }, input })
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
  return (await (await site.request('/tool-contract/v1/execute', init)).json()) as ToolExecutionResponse
}

test.each(KINDS)('%s: the answer says which try it is from, and every try has one request id', async (_kind, open) => {
  verifies('contract:123')
  const tool = await open('fails first')
  const site = await startSite({ operations: [tool.declare({ retry: { attempts: 3, backoffMs: 1 } })] })

  const response = await execute(site, { n: 1 })

  expect(response).toMatchObject({ status: 'ok', output: { n: 1 }, usage: { attempt: 2 } })
  expect(tool.ids()).toHaveLength(2)
  expect(new Set(tool.ids()).size).toBe(1)
})

test.each(KINDS)('%s: a tool that hangs ends in a timeout, and is notified', async (_kind, open) => {
  verifies('contract:121', 'contract:125')
  const tool = await open('hangs')
  const site = await startSite({ operations: [tool.declare({ timeoutMs: 50 })] })

  const response = await execute(site, {})

  expect(response).toMatchObject({ status: 'error', error: { code: 'timeout', details: { timeout_ms: 50 } } })
  await tool.stopped
})

test.each(KINDS)('%s: a call that is canceled is canceled at the tool', async (_kind, open) => {
  verifies('contract:122')
  const tool = await open('hangs')
  const site = await startSite({ operations: [tool.declare({ model: 'async' })] })
  const { body } = await site.call('v1:remote.run', {}, { requestId: crypto.randomUUID() })
  await tool.begun

  const canceled = await site.request(`/ops/${body.requestId}`, { method: 'DELETE' })

  expect(canceled.ok).toBe(true)
  await tool.stopped
})

/** A slow tool: a poll without a result yet gets the reply to poll again. */
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

test('a wait beyond its time limit is a timeout, and the tool is notified', async () => {
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
