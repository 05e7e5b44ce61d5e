/**
 * One server process with faulty remote tools of every networked kind. The caller gets an error for each fault, and the
 * next caller gets its own result.
 */
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { expect, test, vi } from 'vitest'
import { type Asked, flood, openTool, requestIn, responseTo } from '../backends/tool-server.ts'
import { serveProcess, temporaryFolder } from '../cli/processes.ts'
import { startGrpcTool } from '../protocols/contract/peer.ts'
import { verifies } from '../requirements.ts'
import { callerOf } from './server.ts'

// Processes start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const SECRET = 'between the two of us'
const OVER_HTTP = ['http', 'external', 'webhook']
const KINDS = [...OVER_HTTP, 'grpc']

type Misbehave = (asked: Asked, response: ServerResponse) => void

/** `good` is what a tool of this kind says when all is well. */
const MODES: Record<string, Misbehave> = {
  good: (asked, response) => void response.end(goodAnswer(asked)),
  closes(_asked, response) {
    response.writeHead(200, { 'Content-Length': 100 })
    response.write('{"half', () => response.destroy())
  },
  floods: (_asked, response) => flood(response),
  garbage: (_asked, response) => void response.end('Welcome!'),
  lies: (asked, response) => void response.end(responseTo({ ...requestIn(asked), request_id: 'another' })),
  /** Two answers to one request on a connection that stays open for the next. */
  twice(asked, response) {
    const { socket } = response
    const text = goodAnswer(asked)
    response.writeHead(200, { 'Content-Length': text.length }).end(text, () => {
      const second = text.replace(/"n":\d+/, '"n":666')
      socket?.write(`HTTP/1.1 200 OK\r\nContent-Length: ${second.length}\r\n\r\n${second}`)
    })
  },
}

function goodAnswer(asked: Asked): string {
  return asked.path === '/http' ? asked.body : responseTo(requestIn(asked))
}

interface Input {
  mode: string
  n: number
}

function inputOf({ path, body }: Asked): Input {
  return (path === '/http' ? JSON.parse(body) : JSON.parse(body).input) as Input
}

/** The same over gRPC, as far as its streams allow it. */
async function openGrpcTool(late: (() => void)[]) {
  const tool = await startGrpcTool(async ({ request_id, input }) => {
    const good = { request_id, status: 'ok', output: input }
    const { mode } = input as Input
    if (mode === 'late') await new Promise<void>((resolve) => late.push(resolve))
    if (mode === 'closes') tool.drop()
    if (mode === 'floods') return { ...good, output: { text: 'a'.repeat(5_000_000) } }
    if (mode === 'garbage') return { welcome: true }
    return mode === 'lies' ? { ...good, request_id: 'another' } : good
  })
  return `http://127.0.0.1:${tool.port}`
}

/** A process that serves one tool of each kind, and a second of each that has little time. */
async function open() {
  /** Sends the responses that the test delays. */
  const late: (() => void)[] = []
  const tool = await openTool((asked, response) => {
    const { mode } = inputOf(asked)
    if (mode === 'late') late.push(() => response.end(goodAnswer(asked)))
    else MODES[mode]?.(asked, response)
  })
  const grpcUrl = await openGrpcTool(late)
  const declared = KINDS.flatMap((kind) => {
    const url = kind === 'grpc' ? grpcUrl : `${tool.url}/${kind}`
    return [declare(`v1:${kind}.run`, kind, url), declare(`v1:${kind}.hurried`, kind, url, 'timeoutMs: 300')]
  })
  const folder = await temporaryFolder({ 'app/tools.yaml': declared.join('---\n') })
  const server = await serveProcess([`${folder}/app`, '--data', `${folder}/data`], {
    env: { CALLPLANE_SECRET_TOOL: SECRET },
  })
  const caller = callerOf(server.url)
  const run = async (op: string, input: Input) => {
    const { body } = await caller.call(op, input, { requestId: crypto.randomUUID() })
    return (await caller.ended(body.requestId)).body
  }
  return { tool, late, run, url: server.url, poll: caller.poll }
}

function declare(operation: string, kind: string, url: string, more = ''): string {
  const own = { webhook: ', callback: { secretRef: tool }', grpc: ', plaintext: true' }[kind] ?? ''
  return `operation: ${operation}
model: async
backend: { kind: ${kind}, endpoint: ${url}, allowPrivate: true${own} }
${more}
`
}

const UPSTREAM = { state: 'error', error: { code: 'PANIC_UPSTREAM', cause: { retryable: true } } }
const TOO_MUCH = { state: 'error', error: { code: 'PANIC_ANSWER_TOO_LARGE', cause: { limit_bytes: 4_194_304 } } }
const BAD = { state: 'error', error: { code: 'PANIC_BAD_ANSWER' } }
const own = (n: number) => ({ state: 'complete', result: { n } })

const FAULTS: [mode: string, kinds: string[], told: object][] = [
  ['closes', KINDS, UPSTREAM],
  ['floods', KINDS, TOO_MUCH],
  // To a plain endpoint every text is an answer, and there is no request id to lie about.
  ['garbage', ['external', 'webhook', 'grpc'], BAD],
  ['lies', ['external', 'webhook', 'grpc'], BAD],
  ['twice', OVER_HTTP, own(1)],
]

test('a tool that breaks off, floods, babbles, lies or answers twice harms one call at most', async () => {
  verifies('contract:038', 'contract:136')
  const { run } = await open()

  for (const [mode, kinds, told] of FAULTS) {
    for (const kind of kinds) {
      const first = await run(`v1:${kind}.run`, { mode, n: 1 })
      const next = await run(`v1:${kind}.run`, { mode: 'good', n: 2 })

      expect({ mode, kind, ...first }).toMatchObject({ mode, kind, ...told })
      expect({ mode, kind, ...next }).toMatchObject({ mode, kind, ...own(2) })
    }
  }
})

test('an answer that comes after the time is over changes nothing, sent or delivered', async () => {
  verifies('contract:121', 'contract:145')
  const { tool, late, run, url, poll } = await open()

  for (const kind of KINDS) {
    const ended = await run(`v1:${kind}.hurried`, { mode: 'late', n: 1 })
    for (const answer of late.splice(0)) answer()

    expect({ kind, ...ended }).toMatchObject({ kind, state: 'error', error: { code: 'PANIC_TIMEOUT' } })
    expect(await run(`v1:${kind}.run`, { mode: 'good', n: 2 })).toMatchObject(own(2))
    expect((await poll(ended.requestId)).body).toMatchObject({ state: 'error', error: { code: 'PANIC_TIMEOUT' } })
  }

  const asked = tool.asked.find(({ path, body }) => path === '/webhook' && body.includes('late')) as Asked
  expect(await push(url, asked)).toBe(409)
})

test('if a tool responds at once and also sends a callback, only one of them counts', async () => {
  verifies('contract:145')
  const { tool, run, url } = await open()

  const ended = await run('v1:webhook.run', { mode: 'good', n: 1 })

  expect(ended).toMatchObject(own(1))
  expect(await push(url, tool.asked[0] as Asked)).toBe(409)
})

/** Delivers another answer to this request, and says how it was taken. */
async function push(url: string, asked: Asked): Promise<number> {
  const request = requestIn(asked)
  const body = responseTo(request, { output: { n: 666 } })
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')
  const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
  return (await fetch(`${url}/v1/tool-callbacks/${request.request_id}`, { method: 'POST', headers, body })).status
}
