/** Stories about the data that calls leave: aliases, chunks, objects, tasks, child calls, replies and announcements. */
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation, type ServerOptions } from 'callplane'
import { z } from 'zod'
import { META, STATELESS_VERSION, TASKS } from '../../../src/protocols/mcp/wire.ts'
import { requestIn, responseTo, type ToolServer } from '../../backends/tool-server.ts'
import { decide, ended as endedAs, hold, officeOf } from './approval-stories.ts'
import type { PointStory } from './every-point.ts'
import type { Life } from './world.ts'

const args = z.object({ n: z.number() })
const KEPT_SECONDS = 60

function plant(life: Life): Partial<ServerOptions> {
  return {
    operations: [
      operation('v1:plant.make', {
        args,
        model: 'async',
        run({ n }) {
          life.note(`make ${n}`)
          return { n }
        },
      }),
      operation('v1:plant.sign', {
        args,
        model: 'async',
        requires: { secrets: ['pen'] },
        run({ n }, ctx) {
          life.note(`sign ${n}`)
          return { n, letters: ctx.secret('pen').length }
        },
      }),
      operation('v1:plant.order', {
        args,
        model: 'async',
        run: ({ n }, ctx) => ctx.call('v1:plant.make', { n }),
      }),
      operation('v1:plant.list', {
        args,
        chunked: { mimeType: 'text/csv' },
        async *run({ n }) {
          life.note(`list ${n}`)
          for (let line = 0; line < 3; line++) yield `${line},${'x'.repeat(20)}\n`
        },
      }),
      operation('v1:plant.draw', {
        args,
        model: 'async',
        async run({ n }, ctx) {
          life.note(`draw ${n}`)
          return ctx.object(`drawing ${n}`, { mimeType: 'text/plain' })
        },
      }),
      operation('v1:plant.sketch', {
        args,
        model: 'async',
        ttlSeconds: KEPT_SECONDS,
        async run({ n }, ctx) {
          life.note(`sketch ${n}`)
          return ctx.object(`sketch ${n}`, { mimeType: 'text/plain' })
        },
      }),
      operation('v1:plant.paint', {
        args,
        model: 'async',
        async run(_args, ctx) {
          const schema = { type: 'object', properties: { colour: { type: 'string' } } } as const
          const { which } = await ctx.ask({ which: { kind: 'form', message: 'Which colour?', schema } })
          life.note('paint')
          return which.action === 'accept' ? which.content : null
        },
      }),
      operation('v1:plant.wait', {
        args,
        model: 'async',
        run: (_args, ctx) =>
          new Promise((_resolve, reject) => {
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
          }),
      }),
    ],
    work: { leaseMs: 30_000, claimEveryMs: 60_000 },
    limits: { pollBurst: 100_000 },
    sizes: { chunkBytes: 16 },
  }
}

async function send(life: Life, name: string, requestId: string, idempotencyKey?: string) {
  const ctx = { requestId, ...(idempotencyKey !== undefined && { idempotencyKey }) }
  return (await life.request('/call', { op: `v1:plant.${name}`, args: { n: 1 }, ctx })).body
}

function ended(life: Life, requestId: string) {
  return life.until(async () => {
    const { body } = await life.request(`/ops/${requestId}`)
    return body.state === 'complete' || body.state === 'error' ? body : undefined
  }, 50)
}

const story = (
  name: string,
  tell: (life: Life) => Promise<unknown>,
  outcome: object,
  runs: readonly [number, number],
): PointStory => ({ name, options: plant, tell, outcome, runs })

/** Sends one MCP message of the stateless revision. */
async function mcp(life: Life, method: string, params: object, key?: string) {
  const name = (params as { name?: string; taskId?: string }).name ?? (params as { taskId?: string }).taskId
  const headers = {
    Accept: 'application/json',
    'MCP-Protocol-Version': STATELESS_VERSION,
    'Mcp-Method': method,
    ...(name !== undefined && { 'Mcp-Name': name }),
  }
  const _meta = {
    [META.version]: STATELESS_VERSION,
    [META.capabilities]: { extensions: { [TASKS]: {} }, elicitation: {} },
    ...(key !== undefined && { [META.idempotencyKey]: key }),
  }
  return (await life.request('/mcp', { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }, headers)).body
}

export const CALL_STORIES: readonly PointStory[] = [
  story(
    'two request ids under one key',
    async (life) => {
      await send(life, 'make', 'r1', 'k')
      await ended(life, 'r1')
      await send(life, 'make', 'r2', 'k')
      return ended(life, 'r2')
    },
    { state: 'complete', result: { n: 1 } },
    [1, 2],
  ),
  story(
    'a secret that comes with a call',
    async (life) => {
      const secrets = [{ id: 'pen', value: 'a-pen-of-my-own' }]
      const calling = life.request('/tools/call', {
        tool_id: 'plant.sign',
        input: { n: 1 },
        call_id: 'r1',
        context: { secrets },
      })
      calling.catch(() => undefined)
      await life.until(async () => ((await life.request('/ops/r1')).status === 404 ? undefined : true), 0)
      return ended(life, 'r1')
    },
    { state: 'complete', result: { n: 1, letters: 15 } },
    [1, 2],
  ),
  story(
    'a call that makes another',
    async (life) => {
      await send(life, 'order', 'r1')
      return ended(life, 'r1')
    },
    { state: 'complete', result: { n: 1 } },
    [1, 2],
  ),
  story(
    'a result in chunks',
    async (life) => {
      await send(life, 'list', 'r1')
      await ended(life, 'r1')
      const lengths: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await life.request(`/ops/r1/chunks${cursor && `?cursor=${cursor}`}`)
        lengths.push(body.chunk.length)
        cursor = body.cursor
      }
      return { bytes: lengths.reduce((sum, length) => sum + length, 0) }
    },
    { bytes: 69 },
    [1, 2],
  ),
  story(
    'a result in an object',
    async (life) => {
      await send(life, 'draw', 'r1')
      return ended(life, 'r1')
    },
    { state: 'complete' },
    [1, 2],
  ),
  story(
    'a call with an object that is removed when its time is over',
    async (life) => {
      await send(life, 'sketch', 'r1')
      await ended(life, 'r1')
      for (let passed = 0; passed < 3 * KEPT_SECONDS; passed += 10) {
        await life.quiet()
        life.clock.advance(10_000)
      }
      return { status: (await life.request('/ops/r1')).status }
    },
    { status: 404 },
    [1, 2],
  ),
  story(
    'a task that asks, and goes on with the answer',
    async (life) => {
      const { result } = await mcp(life, 'tools/call', { name: 'plant_paint', arguments: { n: 1 } }, 'k')
      if (result.taskId === undefined) return result.structuredContent
      const { taskId } = result
      return life.until(async () => {
        const task = (await mcp(life, 'tasks/get', { taskId })).result
        for (const id of Object.keys(task.inputRequests ?? {})) {
          const inputResponses = { [id]: { action: 'accept', content: { colour: 'blue' } } }
          await mcp(life, 'tasks/update', { taskId, inputResponses })
        }
        return task.status === 'completed' ? task.result.structuredContent : undefined
      }, 50)
    },
    { colour: 'blue' },
    [1, 2],
  ),
  story(
    'a task that is canceled',
    async (life) => {
      const { result } = await mcp(life, 'tools/call', { name: 'plant_wait', arguments: { n: 1 } }, 'k')
      // The call was canceled before, so the same key returns its outcome at once.
      if (result.isError) return { status: result._meta['callplane/error'].code }
      await mcp(life, 'tasks/cancel', { taskId: result.taskId })
      const { status } = (await mcp(life, 'tasks/get', { taskId: result.taskId })).result
      return { status: status === 'cancelled' ? 'CANCELED' : status }
    },
    { status: 'CANCELED' },
    [0, 0],
  ),
]

/** Stories with a receiver for announcements. */
export function announcedStories(url: string, secrets: string): readonly PointStory[] {
  const told = (office: (life: Life) => Partial<ServerOptions>) => (life: Life) => ({
    ...office(life),
    announce: { url, secretRef: 'announce-key', allowPrivate: true },
    secrets: [{ kind: 'files' as const, folder: secrets }],
  })
  const rules = { announced: true }
  return [
    {
      name: 'an end that is announced',
      options: told(plant),
      async tell(life) {
        await send(life, 'make', 'r1')
        return ended(life, 'r1')
      },
      outcome: { state: 'complete' },
      runs: [1, 2],
      rules,
    },
    {
      name: 'an approval that is announced, and the end of its call',
      options: told(officeOf),
      async tell(life) {
        await hold(life)
        await decide(life, 'approve')
        return endedAs(life)
      },
      outcome: { state: 'complete' },
      runs: [1, 2],
      rules,
    },
  ]
}

const CALLBACK_KEY = 'between the two of us'

/** A tool that replies later with a signed callback. The request to the tool carries a secret. */
export function webhookStory(tool: Pick<ToolServer, 'url' | 'asked'>, secrets: string): PointStory {
  writeFileSync(join(secrets, 'callback-key'), CALLBACK_KEY)
  writeFileSync(join(secrets, 'tool-key'), 'a-key-that-the-tool-is-shown')
  const posted = () => tool.asked.find(({ method }) => method === 'POST')
  const backend = {
    kind: 'webhook',
    endpoint: tool.url,
    allowPrivate: true,
    pollMs: 3_600_000,
    callback: { secretRef: 'callback-key' },
  }
  const auth = { profile: 'api_key_header', secretRef: 'tool-key', headerName: 'X-Api-Key' } as const
  return {
    name: 'a tool that answers later',
    options(life) {
      // Removes the requests of the previous story, which had other ids.
      if (life.isFirst) tool.asked.length = 0
      return {
        operations: [operation('v1:plant.remote', { model: 'async', backend, auth })],
        secrets: [{ kind: 'files', folder: secrets }],
        work: { leaseMs: 30_000, claimEveryMs: 60_000 },
        limits: { pollBurst: 100_000 },
      }
    },
    async tell(life) {
      await send(life, 'remote', 'r1')
      const request = requestIn(await life.until(async () => posted(), 0))
      const body = responseTo(request, { output: { n: 2 } })
      const timestamp = String(Math.floor(life.clock.now() / 1000))
      const signature = createHmac('sha256', CALLBACK_KEY).update(`${timestamp}.${body}`).digest('hex')
      const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
      const path = `/v1/tool-callbacks/${encodeURIComponent(request.request_id)}`
      await life.request(path, JSON.parse(body), headers)
      return ended(life, 'r1')
    },
    outcome: { state: 'complete', result: { n: 2 } },
    runs: [0, 0],
  }
}
