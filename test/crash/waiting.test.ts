/**
 * Kills a real server process while a tool works on its call, at every point of that call. Another server on the same
 * folder receives the tool's callback. The tool is a separate server, as in production.
 */
import { createHmac } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { openTool, requestIn, responseTo, type ToolServer } from '../backends/tool-server.ts'
import { type Served, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { verifies } from '../requirements.ts'
import { callerOf } from '../scenarios/server.ts'

// Processes start slowly on a busy machine, and the lease of the dead one has to run out.
vi.setConfig({ testTimeout: 60_000 })

const SECRET = 'between the two of us'
const OPERATION = 'v1:video.render'

interface Tool extends ToolServer {
  /** It has the answer from now on. */
  finish(): void
  /** Delivers the answer, `n` in it, and says how that was taken. */
  push(url: string, n: number): Promise<number>
  posts(): string[]
  /** Resolves when it has been asked for an answer. */
  questioned: Promise<void>
}

interface Manner {
  /** Whether it says anything to the call itself. */
  accepts?: boolean
  /** How often it says that it knows nothing of the call. */
  forgets?: number
}

/** Works until it is told that it has finished. */
async function openSlowTool({ accepts = true, forgets = 0 }: Manner = {}): Promise<Tool> {
  const questioned = Promise.withResolvers<void>()
  let finished = false
  let forgotten = 0
  const tool = await openTool((asked, response) => {
    if (asked.method === 'GET') questioned.resolve()
    if (asked.method === 'POST' && !accepts && posts().length === 1) return
    if (asked.method === 'GET' && forgotten < forgets) {
      forgotten++
      response.writeHead(404).end()
    } else if (asked.method === 'GET' && finished) response.end(responseTo(first()))
    else response.writeHead(202).end()
  })
  const first = () => requestIn(tool.asked[0] as never)
  const posts = () => tool.asked.filter(({ method }) => method === 'POST').map((asked) => requestIn(asked).request_id)
  return {
    ...tool,
    posts,
    questioned: questioned.promise,
    finish() {
      finished = true
    },
    async push(url, n) {
      const body = responseTo(first(), { output: { n } })
      const timestamp = String(Math.floor(Date.now() / 1000))
      const signature = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')
      const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
      const path = `/v1/tool-callbacks/${encodeURIComponent(first().request_id)}`
      return (await fetch(url + path, { method: 'POST', headers, body })).status
    },
  }
}

/** The command line's server with one declared tool; `again` starts the next one on the same folder. */
async function openServer(tool: Tool, pollMs: number) {
  const folder = await temporaryFolder({
    'app/render.yaml': `
operation: ${OPERATION}
model: async
sideEffecting: true
backend: { kind: webhook, endpoint: ${tool.url}/jobs, allowPrivate: true, pollMs: ${pollMs}, callback: { secretRef: render } }
`,
    'app/settings.js': 'export const server = { work: { leaseMs: 1000, claimEveryMs: 200 } }\n',
    'app/package.json': '{ "type": "module" }',
  })
  const start = () =>
    serveProcess([`${folder}/app`, '--data', `${folder}/data`], { env: { CALLPLANE_SECRET_RENDER: SECRET } })
  const killed = async (server: Served) => {
    server.kill('SIGKILL')
    await server.ended
  }
  return { start, killed }
}

async function send({ url }: Served): Promise<string> {
  const requestId = crypto.randomUUID()
  const { status } = await callerOf(url).call(OPERATION, { n: 1 }, { requestId, idempotencyKey: requestId })
  expect(status).toBe(202)
  return requestId
}

const ended = async ({ url }: Served, requestId: string) => (await callerOf(url).ended(requestId)).body

test.each([
  ['before the tool said a word', { accepts: false }, 1],
  ['before the tool said a word, and the tool does not know the call', { accepts: false, forgets: 1 }, 2],
  ['between two questions', {}, 1],
])('killed %s, the next server asks for the answer', async (_, manner: Manner, posts) => {
  verifies('contract:143')
  const tool = await openSlowTool(manner)
  const { start, killed } = await openServer(tool, 50)
  const first = await start()
  const requestId = await send(first)
  await (manner.accepts === false ? tool.begun : tool.questioned)

  await killed(first)
  tool.finish()
  const second = await start()

  expect(await ended(second, requestId)).toMatchObject({ state: 'complete', result: { n: 1 } })
  expect(tool.posts()).toHaveLength(posts)
  expect(new Set(tool.posts()).size).toBe(1)
})

test.each([
  ['before the tool said a word', { accepts: false }, 3_600_000],
  ['between two questions', {}, 50],
])('killed %s, the next server takes the answer that is delivered', async (_, manner: Manner, pollMs) => {
  verifies('contract:145')
  const tool = await openSlowTool(manner)
  const { start, killed } = await openServer(tool, pollMs)
  const first = await start()
  const requestId = await send(first)
  await (manner.accepts === false ? tool.begun : tool.questioned)
  await killed(first)
  const second = await start()

  expect(await tool.push(second.url, 2)).toBe(202)

  expect(await ended(second, requestId)).toMatchObject({ state: 'complete', result: { n: 2 } })
  expect(await tool.push(second.url, 3)).toBe(409)
  expect(tool.posts()).toHaveLength(1)
})

test('killed right after it took a delivered answer, the server has it', async () => {
  const tool = await openSlowTool()
  const { start, killed } = await openServer(tool, 3_600_000)
  const first = await start()
  const requestId = await send(first)
  await tool.begun

  expect(await tool.push(first.url, 2)).toBe(202)
  await killed(first)
  const second = await start()

  expect(await ended(second, requestId)).toMatchObject({ state: 'complete', result: { n: 2 } })
  expect(tool.posts()).toHaveLength(1)
})
