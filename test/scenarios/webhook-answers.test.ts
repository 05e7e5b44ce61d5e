/** Callbacks from tools: each counts once, for its own attempt, and without the secrets that the tool received. */
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/server/build/environment.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { openTool, requestIn, type ToolServer } from '../backends/tool-server.ts'
import { startSite, temporaryFolder } from './server.ts'

const SIGNING = 'callback-secret-123456'

/** Takes every call and says nothing; a token endpoint besides, with another token each time. */
async function openSilentTool(): Promise<ToolServer & { shown(at?: number): string; id(): string; tries(): number[] }> {
  let tokens = 0
  const tool = await openTool(({ path }, response) => {
    if (path !== '/token') response.writeHead(202).end()
    else
      response.end(
        JSON.stringify({ access_token: `access-token-${++tokens}-abcdefgh`, token_type: 'bearer', expires_in: 3600 }),
      )
  })
  const posts = () => tool.asked.filter(({ path, method }) => path === '/jobs' && method === 'POST')
  return {
    ...tool,
    shown: (at = 0) => String(posts()[at]?.headers.authorization).replace('Bearer ', ''),
    id: () => requestIn(posts()[0] as never).request_id,
    tries: () => posts().map((asked) => Number(requestIn(asked).runtime?.attempt)),
  }
}

function deliver(url: string, id: string, answer: object, timestamp: string): Promise<number> {
  const body = JSON.stringify({ request_id: id, ...answer })
  const signature = createHmac('sha256', SIGNING).update(`${timestamp}.${body}`).digest('hex')
  const headers = { 'X-Timestamp': timestamp, 'X-Signature': signature }
  return fetch(`${url}/v1/tool-callbacks/${id}`, { method: 'POST', headers, body }).then(({ status }) => status)
}

function stubEnv(name: string, value: string): void {
  vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

const now = () => String(Math.floor(Date.now() / 1000))

function renderOn({ url }: ToolServer, more: object = {}) {
  stubEnv('CALLPLANE_SECRET_CB', SIGNING)
  const backend = {
    kind: 'webhook',
    endpoint: `${url}/jobs`,
    allowPrivate: true,
    callback: { secretRef: 'cb' },
    pollMs: 60_000,
  }
  return operation('v1:video.render', { model: 'async', retry: { attempts: 2, backoffMs: 1 }, ...more, backend })
}

const FAILED = { status: 'error', error: { code: 'execution_failed', retryable: true, message: 'Broken.' } }

test('the same bytes are not taken as the answer of a second try, and the second try has its own', async () => {
  const tool = await openSilentTool()
  const site = await startSite({ operations: [renderOn(tool)] })
  const asked = await site.call('v1:video.render')
  await tool.begun
  const [id, timestamp] = [tool.id(), now()]

  const first = await deliver(site.url, id, FAILED, timestamp)
  await vi.waitFor(() => expect(tool.tries()).toEqual([1, 2]))
  const replayed = await deliver(site.url, id, FAILED, timestamp)
  const second = await deliver(site.url, id, { status: 'ok', output: { done: true } }, timestamp)

  expect([first, replayed, second]).toEqual([202, 409, 202])
  expect((await site.ended(asked.body.requestId)).body).toMatchObject({ state: 'complete', result: { done: true } })
})

test('an answer that says it is of another try is refused', async () => {
  const tool = await openSilentTool()
  const site = await startSite({ operations: [renderOn(tool)] })
  await site.call('v1:video.render')
  await tool.begun
  const id = tool.id()
  await deliver(site.url, id, FAILED, now())
  await vi.waitFor(() => expect(tool.tries()).toEqual([1, 2]))
  const of = (attempt: number) => ({ status: 'ok', output: { attempt }, usage: { attempt, duration_ms: 1 } })

  expect(await deliver(site.url, id, of(1), now())).toBe(409)
  expect(await deliver(site.url, id, of(2), now())).toBe(202)
})

test('secrets that a tool received before a restart are removed from its later callback', async () => {
  const tool = await openSilentTool()
  const tokenURL = `${tool.url}/token`
  const auth = { profile: 'oauth2_client_credentials' as const, secretRef: 'oa', tokenURL }
  stubEnv('CALLPLANE_SECRET_OA__CLIENT_ID', 'me')
  stubEnv('CALLPLANE_SECRET_OA__CLIENT_SECRET', 'client-secret-abcdef')
  const options = {
    data: temporaryFolder(),
    operations: [renderOn(tool, { auth })],
    tokenEndpoints: { [tokenURL]: { allowPrivate: true } },
  }
  const before = await startSite(options)
  const asked = await before.call('v1:video.render')
  await vi.waitFor(() => expect(tool.tries()).toEqual([1]))
  await before.close()
  const after = await startSite(options)

  const status = await deliver(after.url, tool.id(), { status: 'ok', output: { used: tool.shown() } }, now())
  const ended = await after.ended(asked.body.requestId)
  await after.close()

  expect([status, ended.body.state]).toEqual([202, 'complete'])
  expect(tool.shown()).toBe('access-token-1-abcdefgh')
  expect(JSON.stringify(ended.body)).not.toContain(tool.shown())
  const files = readdirSync(options.data).filter((name) => name.includes('.db'))
  expect(files.length).toBeGreaterThan(0)
  for (const name of files) expect(readFileSync(join(options.data, name)).includes(tool.shown())).toBe(false)
})

test('secrets that a tool received before they were changed are removed from its poll responses', async () => {
  const [first, other] = ['first-secret-abcdefgh', 'other-secret-abcdefgh']
  let finished = false
  const tool = await openTool(({ method }, response) => {
    if (method !== 'GET' || !finished) response.writeHead(202).end()
    else {
      const { request_id } = requestIn(tool.asked[0] as never)
      response.end(JSON.stringify({ request_id, status: 'ok', output: { used: first } }))
    }
  })
  stubEnv('CALLPLANE_SECRET_KEY', first)
  const backend = { kind: 'webhook', endpoint: `${tool.url}/jobs`, allowPrivate: true, pollMs: 20 }
  const auth = { profile: 'bearer' as const, secretRef: 'key' }
  const operations = [operation('v1:video.render', { model: 'async', auth, backend })]
  const before = await startSite({ operations, data: temporaryFolder() })
  const asked = await before.call('v1:video.render')
  await vi.waitFor(() => expect(tool.asked.length).toBeGreaterThan(1))
  await before.close()

  stubEnv('CALLPLANE_SECRET_KEY', other)
  finished = true
  const after = await startSite({ operations, data: before.data })
  const ended = await after.ended(asked.body.requestId)

  expect(tool.asked.map(({ headers }) => headers.authorization)).toEqual(
    expect.arrayContaining([`Bearer ${first}`, `Bearer ${other}`]),
  )
  expect(ended.body).toMatchObject({ state: 'complete', result: { used: '[redacted]' } })
})

test('an answer is not taken while it is not known what its tool was shown, and taken once it is', async () => {
  const tool = await openSilentTool()
  stubEnv('CALLPLANE_SECRET_KEY', 'first-secret-abcdefgh')
  const auth = { profile: 'bearer' as const, secretRef: 'key' }
  const options = { data: temporaryFolder(), operations: [renderOn(tool, { auth })] }
  const [ours, theirs] = ['11'.repeat(32), '22'.repeat(32)]
  const before = await startSite({ ...options, vault: { key: ours } })
  const asked = await before.call('v1:video.render')
  await vi.waitFor(() => expect(tool.tries()).toEqual([1]))
  await before.close()
  const [answer, timestamp] = [{ status: 'ok', output: { used: tool.shown() } }, now()]

  const without = await startSite({ ...options, vault: { key: theirs } })
  const refused = await deliver(without.url, tool.id(), answer, timestamp)
  await without.close()
  const store = createSqliteStore({ file: join(options.data, 'callplane.db'), clock: systemClock })
  const after = await startSite({ ...options, vault: { key: ours }, store })
  const kept = await store.records.list('shown/', 10)
  const taken = await deliver(after.url, tool.id(), answer, timestamp)

  expect([refused, taken]).toEqual([503, 202])
  expect((await after.ended(asked.body.requestId)).body).toMatchObject({ result: { used: '[redacted]' } })
  expect(kept).toHaveLength(1)
  await vi.waitFor(async () => expect(await store.records.list('shown/', 10)).toEqual([]))
})
