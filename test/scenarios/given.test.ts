/** Secrets sent with a call are available to all its attempts, and are never shown. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { browse, CLIENT, startOAuthServer } from '../security/oauth-server.ts'
import { oxpClient } from './oxp.ts'
import { createGate, startSite, temporaryFolder } from './server.ts'

const SECRET = 'hunter2-hunter2'

function toolCall(tool: string): RequestInit {
  const body = { tool_id: tool, input: {}, context: { secrets: [{ id: 's', value: SECRET }] } }
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

test.each([
  ['an unrecorded call', {}],
  ['a recorded call', { model: 'async' }],
] as const)('a secret is there at the second attempt of %s', async (_kind, rules) => {
  const flaky = operation('v1:t.flaky', {
    ...rules,
    requires: { secrets: ['s'] },
    retry: { attempts: 2, backoffMs: 1 },
    run: (_args, ctx) => {
      if (ctx.attempt === 1) throw new Fault('upstream', 'Not yet.')
      return ctx.secret('s').length
    },
  })
  const site = await startSite({ operations: [flaky] })

  const answer = await site.request('/tools/call', toolCall('t.flaky'))

  expect(await answer.json()).toMatchObject({ success: true, value: SECRET.length })
})

test('a secret in a progress message is in no poll', async () => {
  const gate = createGate()
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['s'] },
    run: (_args, ctx) => {
      ctx.progress(0.5, `using ${ctx.secret('s')}`)
      return gate.pass()
    },
  })
  const site = await startSite({ operations: [slow] })
  const init = toolCall('t.slow')
  const body = JSON.stringify({ ...JSON.parse(init.body as string), call_id: 'c1' })
  const calling = site.request('/tools/call', { ...init, body })
  await gate.began

  await expect.poll(async () => (await site.poll('c1')).body.progress?.message).toBe('using [redacted]')

  gate.open('done')
  expect(await (await calling).json()).toMatchObject({ success: true })
})

test('the second attempt has the secret if the first attempt took longer than the wait', async () => {
  const gate = createGate()
  let requestId = ''
  const slow = operation('v1:t.slow', {
    maxSyncMs: 1,
    requires: { secrets: ['s'] },
    retry: { attempts: 2, backoffMs: 1 },
    run: (_args, ctx) => {
      requestId = ctx.requestId
      return ctx.attempt === 1 ? gate.pass() : ctx.secret('s').length
    },
  })
  const site = await startSite({ operations: [slow] })

  const calling = site.request('/tools/call', toolCall('t.slow'))
  await gate.began
  await expect.poll(async () => (await site.poll(requestId)).body.state).toBe('pending')
  gate.fail(new Fault('upstream', 'Not yet.'))

  expect(await (await calling).json()).toMatchObject({ success: true, value: SECRET.length })
})

test.each([
  ['a call', 'whoami'],
  ['a child call', 'outer'],
])('after a restart %s has the token and the secret that came with it', async (_what, tool) => {
  const seen: unknown[] = []
  const began = Promise.withResolvers<void>()
  const cutOff = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      began.resolve()
    })
  const whoami = operation('v1:t.whoami', {
    model: 'async',
    requires: { ...needsHub, secrets: ['s'] },
    run: async ({ now }, ctx) =>
      ctx.attempt === 1 && !now
        ? cutOff(ctx.signal)
        : seen.push([await ctx.authorization('hub'), ctx.secret('s'), ctx.caller.userId]),
  })
  const outer = operation('v1:t.outer', {
    model: 'async',
    run: (_args, ctx) => (ctx.attempt === 1 ? cutOff(ctx.signal) : ctx.call(whoami, { now: true })),
  })
  const data = temporaryFolder()
  const before = await startSite({ operations: [whoami, outer], data })
  const context = {
    authorization: [{ id: 'hub', token: 'a-token-of-my-own' }],
    secrets: [{ id: 's', value: SECRET }],
    user_id: 'ada',
  }
  oxpClient(before.url)
    .call(`t.${tool}`, {}, { call_id: 'c1', context })
    .catch(() => undefined)
  await began.promise
  await before.close(0)
  const stored = readFileSync(join(data, 'callplane.db'), 'latin1')

  const after = await startSite({ operations: [whoami, outer], data })
  const ended = await after.ended('c1')

  expect(ended.body.state).toBe('complete')
  expect(seen).toEqual([['a-token-of-my-own', SECRET, 'ada']])
  expect(stored).not.toContain(SECRET)
  expect(stored).not.toContain('a-token-of-my-own')
  await after.close(0)
  expect(forgetSealed(data)).toBe(0)
})

test('a call whose secrets were sealed with another key ends with that reason', async () => {
  const began = Promise.withResolvers<void>()
  const slow = operation('v1:t.slow', {
    model: 'async',
    requires: { secrets: ['s'] },
    run: (_args, ctx) =>
      new Promise<never>((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
        began.resolve()
      }),
  })
  const data = temporaryFolder()
  const start = (fill: number) => startSite({ operations: [slow], data, vault: { key: new Uint8Array(32).fill(fill) } })
  const before = await start(1)
  const init = toolCall('t.slow')
  const body = JSON.stringify({ ...JSON.parse(init.body as string), call_id: 'c1' })
  before.request('/tools/call', { ...init, body }).catch(() => undefined)
  await began.promise
  await before.close(0)

  const after = await start(2)

  expect((await after.ended('c1')).body.error).toMatchObject({ code: 'PANIC_VAULT_KEY' })
  await after.close(0)
  expect(forgetSealed(data)).toBe(0)
})

/** Removes sealed secrets behind the server's back; says how many there were. */
function forgetSealed(data: string): number {
  const db = new Database(join(data, 'callplane.db'))
  try {
    return db.prepare("DELETE FROM records WHERE key LIKE 'call-secrets/%'").run().changes
  } finally {
    db.close()
  }
}

const needsHub = { authorization: [{ id: 'hub', scopes: ['openid'] }] }

test.each([
  ['a call', 'whoami', '', true],
  ['a child call', 'outer', '', true],
  ['a child call, without an authorization of the person,', 'outer', '', false],
  ['a call with effects', 'act', ', with a new id, if it has had no effect yet', true],
])('after a restart %s whose token cannot be read acts with no other one', async (_what, tool, advice, authorized) => {
  const oauth = await startOAuthServer()
  const used: string[] = []
  const began = Promise.withResolvers<void>()
  const cutOff = (signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      began.resolve()
    })
  const rules = { model: 'async', requires: needsHub } as const
  const act = operation('v1:t.act', {
    ...rules,
    sideEffecting: true,
    run: async (_args, ctx) => used.push(ctx.attempt === 1 ? await cutOff(ctx.signal) : await ctx.authorization('hub')),
  })
  const whoami = operation('v1:t.whoami', {
    ...rules,
    run: async ({ now }, ctx) =>
      used.push(ctx.attempt === 1 && !now ? await cutOff(ctx.signal) : await ctx.authorization('hub')),
  })
  const outer = operation('v1:t.outer', {
    model: 'async',
    run: (_args, ctx) => (ctx.attempt === 1 ? cutOff(ctx.signal) : ctx.call(whoami, { now: true })),
  })
  const data = temporaryFolder()
  const hub = { issuer: oauth.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, allowInsecure: true }
  const start = async () => {
    const site = await startSite({ operations: [act, whoami, outer], authorization: { providers: { hub } }, data })
    oauth.register(`${site.url}/authorizations/callback`)
    return site
  }
  const before = await start()
  const { body } = await oxpClient(before.url).call('t.whoami', {})
  if (authorized) await browse(body.missing_requirements.authorization[0].url)
  const context = { authorization: [{ id: 'hub', token: 'another-account' }] }
  const calling = oxpClient(before.url).call(`t.${tool}`, {}, { call_id: 'c1', context })
  calling.catch(() => undefined)
  await began.promise
  await before.close(0)
  forgetSealed(data)

  const after = await start()
  const ended = await after.ended('c1')

  expect(used).toEqual([])
  expect(ended.body.error).toMatchObject({
    code: 'REQUIREMENTS_MISSING',
    message: `The token for hub was sent with the call and is no longer available. Call again${advice}.`,
  })
  // A call without a token of its own uses the person's authorization.
  expect((await oxpClient(after.url).call('t.whoami', { now: true })).status).toBe(authorized ? 200 : 400)
})

test.each([
  ['that runs on the spot', {}],
  ['with an effect', { sideEffecting: true }],
  ['that is async', { model: 'async' }],
] as const)('a call %s whose token was no good may be sent again under its id', async (_kind, rules) => {
  let runs = 0
  const read = operation('v1:t.read', {
    ...rules,
    requires: needsHub,
    run: async (_args, ctx) => ((await ctx.authorization('hub')) === 'expired' ? ctx.reauthorize('hub') : ++runs),
  })
  const site = await startSite({ operations: [read] })
  const send = (token: string, input = {}) =>
    oxpClient(site.url).call('t.read', input, { call_id: 'c1', context: { authorization: [{ id: 'hub', token }] } })

  const refused = [await send('expired'), await send('expired')]
  const other = await send('good-enough', { other: 1 })
  const [first, second] = await Promise.all([send('good-enough'), send('good-enough')])
  const third = await send('expired')

  expect(refused.map(({ status, body }) => [status, body.missing_requirements])).toEqual(
    refused.map(() => [400, { authorization: [] }]),
  )
  expect([other.status, other.body.message]).toEqual([400, expect.stringContaining('was used for another call')])
  for (const { body } of [first, second, third]) expect(body).toMatchObject({ success: true, value: 1 })
})

test('one that has had others act before it found out may not', async () => {
  let notes = 0
  const note = operation('v1:t.note', { sideEffecting: true, run: () => ++notes })
  const both = operation('v1:t.both', {
    sideEffecting: true,
    requires: needsHub,
    run: async (_args, ctx) => {
      await ctx.call(note, {})
      return (await ctx.authorization('hub')) === 'expired' ? ctx.reauthorize('hub') : 'done'
    },
  })
  const site = await startSite({ operations: [note, both] })
  const send = (token: string) =>
    oxpClient(site.url).call('t.both', {}, { call_id: 'c1', context: { authorization: [{ id: 'hub', token }] } })

  const answers = [await send('expired'), await send('good-enough')]

  expect(answers.map(({ status }) => status)).toEqual([400, 400])
  expect(notes).toBe(1)
})
