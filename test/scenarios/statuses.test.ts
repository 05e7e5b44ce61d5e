/** Every row of OpenCALL's table of HTTP statuses, with a request that causes it. */
import { createToken, Fault, type HandlerContext, operation, removed } from 'callplane'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { type Answered, answered, type Site, startSite } from './server.ts'

const FILM = 'https://cdn.example/film.mp4'
const { token, hash } = createToken()
const AS_ADA = { Authorization: `Bearer ${token}` }
const auth = { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: [] }] }

/** Still runs when the test polls. */
const untilStopped = (_args: object, { signal }: HandlerContext) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

const operations = [
  operation('v1:rows.inline', {
    args: { type: 'object', properties: { n: { type: 'number' } } },
    run: () => 1,
  }),
  operation('v1:rows.domain', { run: (_args, ctx) => ctx.fail('SOLD_OUT', 'None is left.') }),
  operation('v1:rows.later', { model: 'async', concurrency: 1, run: untilStopped }),
  operation('v1:rows.elsewhere', { run: (_args, ctx) => ctx.location(FILM) }),
  operation('v1:rows.followable', { run: (_args, ctx) => ctx.location(FILM, { redirect: true }) }),
  operation('v1:rows.credential', {
    run: (_args, ctx) => ctx.location(FILM, { redirect: true, auth: { credentialType: 'bearer', credential: 'x' } }),
  }),
  operation('v1:rows.scoped', { scopes: ['none has it'], run: () => 1 }),
  operation('v1:rows.broken', {
    run: () => {
      throw new Error('broken')
    },
  }),
  operation('v1:rows.upstream', {
    run: () => {
      throw new Fault('upstream', 'The other side is down.')
    },
  }),
  removed('v1:rows.removed', { on: '2020-01-01' }),
]

type Row = [
  status: number,
  state: string,
  code: string | undefined,
  what: string,
  ask: (site: Site) => Promise<Answered>,
]

const call =
  (op: string, args = {}) =>
  (site: Site) =>
    site.call(op, args, undefined, { headers: AS_ADA })
const request =
  (path: string, init: RequestInit = {}) =>
  async (site: Site) =>
    answered(await site.request(path, { ...init, headers: { 'Content-Type': 'application/json', ...AS_ADA } }))

const rows: readonly Row[] = [
  [200, 'complete', undefined, 'an inline result', call('v1:rows.inline')],
  [200, 'error', 'SOLD_OUT', 'a business failure', call('v1:rows.domain')],
  [202, 'accepted', undefined, 'a result that is not ready', call('v1:rows.later')],
  [202, 'complete', undefined, 'a result elsewhere', call('v1:rows.elsewhere')],
  [202, 'complete', undefined, 'a result elsewhere that needs a credential', call('v1:rows.credential')],
  [303, 'complete', undefined, 'a result that can be followed to', call('v1:rows.followable')],
  [400, 'error', 'INVALID_JSON', 'no envelope', request('/call', { method: 'POST', body: '{' })],
  [400, 'error', 'UNKNOWN_OP', 'an unknown operation', call('v1:rows.unknown')],
  [400, 'error', 'VALIDATION_ERROR', 'bad arguments', call('v1:rows.inline', { n: 'one' })],
  [401, 'error', 'AUTH_REQUIRED', 'no credential', (site) => site.call('v1:rows.inline')],
  [403, 'error', 'INSUFFICIENT_SCOPE', 'a credential without the scope', call('v1:rows.scoped')],
  [404, 'error', 'NOT_FOUND', 'a call that is not there', request('/ops/none')],
  [404, 'error', 'NOT_FOUND', 'chunks that are not there', request('/ops/none/chunks')],
  [404, 'error', 'NOT_FOUND', 'an object that is not there', request('/objects/none.x')],
  [405, 'error', 'METHOD_NOT_ALLOWED', 'another method', request('/call', { method: 'PUT' })],
  [410, 'error', 'OP_REMOVED', 'an operation past its sunset', call('v1:rows.removed')],
  [500, 'error', 'PANIC_INTERNAL', 'an internal failure', call('v1:rows.broken')],
  [502, 'error', 'PANIC_UPSTREAM', 'a failed dependency', call('v1:rows.upstream')],
]

test('each outcome has the status the table gives it, and no other', async () => {
  verifies('opencall:301')
  const site = await startSite({ operations, auth, limits: { queuedCalls: 0 } })

  const seen: unknown[] = []
  for (const [, , , what, ask] of rows) {
    const { status, body } = await ask(site)
    seen.push([status, body.state, body.error?.code, what])
  }
  const full = await call('v1:rows.later')(site)

  expect(seen).toEqual(rows.map(([status, state, code, what]) => [status, state, code, what]))
  expect(full).toMatchObject({ status: 503, body: { state: 'error', error: { code: 'PANIC_QUEUE_FULL' } } })
})

test('a call that is polled too often is 429', async () => {
  verifies('opencall:301')
  const site = await startSite({ operations, auth, limits: { pollBurst: 1, pollIntervalMs: 60_000 } })
  await site.call('v1:rows.later', {}, { requestId: 'polled' }, { headers: AS_ADA })

  const first = await site.poll('polled', AS_ADA)
  const second = await site.poll('polled', AS_ADA)

  expect(first.status).toBe(202)
  expect(second).toMatchObject({ status: 429, body: { state: 'error', error: { code: 'RATE_LIMITED' } } })
})
