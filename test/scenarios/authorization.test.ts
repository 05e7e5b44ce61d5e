/** An operation acts for a person at another service: the person is asked once, and the tokens are not disclosed. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, createToken, operation, type ServerOptions } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { browse, CLIENT, type OAuthServer, startOAuthServer } from '../security/oauth-server.ts'
import { type Answered, createStepClock, type Site, startSite, temporaryFolder } from './server.ts'

interface Challenge {
  id: string
  url: string
  checkUrl: string
}

const HOUR_MS = 3_600_000

/** Two operations that act at the calendar, and an account of what token each run was given. */
function calendarOperations(received: string[] = []) {
  const read = operation('v1:Calendar.Read', {
    requires: { authorization: [{ id: 'calendar', scopes: ['openid', 'calendar.read'] }] },
    async run(_args, ctx) {
      const token = await ctx.authorization('calendar')
      received.push(token)
      ctx.log.info({ token, header: `Bearer ${token}` }, `reading with ${token}`)
      return { length: token.length }
    },
  })
  const write = operation('v1:Calendar.Write', {
    requires: { authorization: [{ id: 'calendar', scopes: ['calendar.write'] }] },
    run: async (_args, ctx) => void received.push(await ctx.authorization('calendar')),
  })
  return [read, write]
}

function providerAt({ issuer }: OAuthServer) {
  return { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, scopes: ['openid'], allowInsecure: true }
}

async function startCalendarSite(
  oauth: OAuthServer,
  options: Partial<ServerOptions> & { received?: string[] } = {},
): Promise<Site> {
  const { received, ...rest } = options
  const providers = { calendar: providerAt(oauth) }
  const site = await startSite({ operations: calendarOperations(received), authorization: { providers }, ...rest })
  oauth.register(`${site.url}/authorizations/callback`)
  return site
}

function challengeIn({ status, body }: Answered): Challenge {
  expect([status, body.error?.code]).toEqual([403, 'REQUIREMENTS_MISSING'])
  const { authorization } = (body.error?.cause ?? {}) as unknown as { authorization: [Challenge] }
  return authorization[0]
}

async function statusOf({ checkUrl }: Challenge): Promise<unknown> {
  const response = await fetch(checkUrl)
  return [response.status, await response.json()]
}

test('a person who is asked authorizes once, and the operation has a token that works for them', async () => {
  const oauth = await startOAuthServer()
  const received: string[] = []
  const site = await startCalendarSite(oauth, { received })

  const challenge = challengeIn(await site.call('v1:Calendar.Read'))
  expect(challenge.id).toBe('calendar')
  expect(await statusOf(challenge)).toEqual([200, { status: 'pending' }])
  expect(received).toEqual([])

  const { response, text } = await browse(challenge.url, { login: 'ada' })
  expect(response.status).toBe(200)
  expect(text).toContain('You can close this window.')
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
    'referrer-policy': 'no-referrer',
  })
  expect(await statusOf(challenge)).toEqual([200, { status: 'completed' }])

  const { status } = await site.call('v1:Calendar.Read')
  expect(status).toBe(200)
  expect(await oauth.whose(received[0] ?? '')).toBe('ada')
})

test('a declined authorization is failed, and the next call asks again', async () => {
  const oauth = await startOAuthServer()
  const site = await startCalendarSite(oauth)
  const first = challengeIn(await site.call('v1:Calendar.Read'))

  const { response, text } = await browse(first.url, { declines: true })

  expect([response.status, text.includes('access_denied')]).toEqual([400, false])
  expect(await statusOf(first)).toEqual([200, { status: 'failed' }])
  const second = challengeIn(await site.call('v1:Calendar.Read'))
  expect([second.url === first.url, second.checkUrl === first.checkUrl]).toEqual([false, false])
})

test('an old token is renewed once for all who need it, and the new one is used from then on', async () => {
  const oauth = await startOAuthServer()
  const clock = createStepClock()
  const received: string[] = []
  const site = await startCalendarSite(oauth, { received, clock })
  await browse(challengeIn(await site.call('v1:Calendar.Read')).url)
  await site.call('v1:Calendar.Read')

  clock.advance(HOUR_MS - 20_000)
  await Promise.all([1, 2, 3].map(() => site.call('v1:Calendar.Read')))
  clock.advance(HOUR_MS)
  await site.call('v1:Calendar.Read')

  const [first, ...others] = received
  expect(new Set(others.slice(0, 3)).size).toBe(1)
  expect(new Set(received).size).toBe(3)
  expect(await oauth.whose(others.at(-1) ?? '')).toBe('ada')
  expect(others).not.toContain(first)
  const grants = oauth.tokenRequests.map((body) => new URLSearchParams(body).get('grant_type'))
  expect(grants).toEqual(['authorization_code', 'refresh_token', 'refresh_token'])
})

test('when the provider no longer renews it, the person is asked again', async () => {
  const oauth = await startOAuthServer()
  const clock = createStepClock()
  const received: string[] = []
  const site = await startCalendarSite(oauth, { received, clock })
  await browse(challengeIn(await site.call('v1:Calendar.Read')).url)
  await oauth.revokeAll()
  clock.advance(HOUR_MS)

  const again = challengeIn(await site.call('v1:Calendar.Read'))
  await browse(again.url)
  await site.call('v1:Calendar.Read')

  expect(await oauth.whose(received.at(-1) ?? '')).toBe('ada')
})

test('an unreachable provider is reported, and the authorization is kept', async () => {
  const oauth = await startOAuthServer()
  const clock = createStepClock()
  const received: string[] = []
  const site = await startCalendarSite(oauth, { received, clock })
  await browse(challengeIn(await site.call('v1:Calendar.Read')).url)
  oauth.down = true

  clock.advance(HOUR_MS - 10_000)
  expect((await site.call('v1:Calendar.Read')).status).toBe(200)
  clock.advance(10_000)
  const { status, body } = await site.call('v1:Calendar.Read')
  expect([status, body.error?.code]).toEqual([502, 'PANIC_PROVIDER_UNREACHABLE'])

  oauth.down = false
  expect((await site.call('v1:Calendar.Read')).status).toBe(200)
  expect(await oauth.whose(received.at(-1) ?? '')).toBe('ada')
})

test('an operation that needs more asks for it without giving up what was granted before', async () => {
  const oauth = await startOAuthServer()
  const site = await startCalendarSite(oauth)
  await browse(challengeIn(await site.call('v1:Calendar.Read')).url)

  const more = challengeIn(await site.call('v1:Calendar.Write'))

  expect(new URL(more.url).searchParams.get('scope')).toBe('calendar.read calendar.write openid')
  await browse(more.url)
  const statuses = [await site.call('v1:Calendar.Read'), await site.call('v1:Calendar.Write')].map(
    (each) => each.status,
  )
  expect(statuses).toEqual([200, 200])
})

test('no caller can use the authorization of another, and a caller without a credential has none', async () => {
  const oauth = await startOAuthServer()
  const [ada, bob] = [createToken(), createToken()]
  const open = operation('v1:Calendar.Open', {
    public: true,
    requires: { authorization: [{ id: 'calendar', scopes: ['openid'] }] },
    run: () => 1,
  })
  const site = await startCalendarSite(oauth, {
    operations: [...calendarOperations(), open],
    auth: {
      tokens: [
        { kind: 'bearer', hash: ada.hash, subject: 'ada', scopes: [] },
        { kind: 'bearer', hash: bob.hash, subject: 'bob', scopes: [] },
      ],
    },
  })
  const as = (token?: string) => ({ headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } })
  await browse(challengeIn(await site.call('v1:Calendar.Read', {}, undefined, as(ada.token))).url)

  const mine = await site.call('v1:Calendar.Read', {}, undefined, as(ada.token))
  const theirs = await site.call('v1:Calendar.Read', {}, undefined, as(bob.token))
  const nobodys = await site.call('v1:Calendar.Open')

  expect([mine.status, nobodys.status]).toEqual([200, 401])
  expect(challengeIn(theirs).id).toBe('calendar')
})

test('a pending authorization is asked for again unchanged, is completed once, and ends after ten minutes', async () => {
  const oauth = await startOAuthServer()
  const clock = createStepClock()
  const site = await startCalendarSite(oauth, { clock })
  const callback = `${site.url}/authorizations/callback`
  const first = challengeIn(await site.call('v1:Calendar.Read'))
  expect(challengeIn(await site.call('v1:Calendar.Read'))).toEqual(first)

  clock.advance(360_000)
  const second = challengeIn(await site.call('v1:Calendar.Read'))
  expect(second).not.toEqual(first)
  const late = await browse(first.url, { stopAt: callback })
  clock.advance(240_000)
  expect((await fetch(late.url)).status).toBe(400)
  expect(await statusOf(first)).toEqual([200, { status: 'failed' }])

  const answer = await browse(second.url, { stopAt: callback })
  const both = await Promise.all([fetch(answer.url), fetch(answer.url)])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  expect(await statusOf(second)).toEqual([200, { status: 'completed' }])
})

test('an answer that was tampered with authorizes nothing', async () => {
  const oauth = await startOAuthServer()
  const site = await startCalendarSite(oauth)
  const callback = `${site.url}/authorizations/callback`
  const tampered = async (change: (params: URLSearchParams) => void) => {
    const challenge = challengeIn(await site.call('v1:Calendar.Read'))
    const { url } = await browse(challenge.url, { stopAt: callback })
    const changed = new URL(url)
    change(changed.searchParams)
    return [(await fetch(changed)).status, ((await statusOf(challenge)) as [number, { status: string }])[1].status]
  }

  expect(await tampered((params) => params.set('iss', 'https://elsewhere.example'))).toEqual([400, 'failed'])
  expect(await tampered((params) => params.delete('iss'))).toEqual([400, 'failed'])
  expect(await tampered((params) => params.set('code', 'other'))).toEqual([400, 'failed'])
  expect(await tampered((params) => params.append('code', 'second'))).toEqual([400, 'failed'])
  expect(await tampered((params) => params.set('state', 'other'))).toEqual([400, 'pending'])
  expect((await fetch(callback)).status).toBe(400)
  challengeIn(await site.call('v1:Calendar.Read'))
})

test('no token is in the database, the log or a reply, in any spelling', async () => {
  const oauth = await startOAuthServer()
  const lines: string[] = []
  const clock = createStepClock()
  const site = await startCalendarSite(oauth, {
    clock,
    log: 'debug',
    logTo: { write: (line: string) => lines.push(line) },
    requestLog: true,
  })
  const challenge = challengeIn(await site.call('v1:Calendar.Read'))
  const { url, text } = await browse(challenge.url)
  const replies = [text, JSON.stringify((await site.call('v1:Calendar.Read')).body)]
  clock.advance(HOUR_MS)
  replies.push(JSON.stringify((await site.call('v1:Calendar.Read')).body))
  oauth.down = true
  clock.advance(HOUR_MS)
  replies.push(JSON.stringify((await site.call('v1:Calendar.Read')).body))
  await site.close()

  const written = [...filesBelow(site.data).map((file) => readFileSync(file)), Buffer.from(lines.join('\n'))]
  const { state = '', code = '' } = Object.fromEntries(new URL(url).searchParams)
  const checkId = challenge.checkUrl.split('/').at(-2) ?? ''
  const secrets = [...oauth.issued, CLIENT.secret, code, state]
  expect(oauth.issued.length).toBeGreaterThanOrEqual(4)
  for (const place of [...written, ...replies.map((reply) => Buffer.from(reply))]) {
    for (const spelling of secrets.flatMap(spellings)) expect(place.includes(spelling)).toBe(false)
  }
  const [database] = filesBelow(site.data).filter((file) => file.endsWith('.db'))
  expect(readFileSync(database ?? '').includes(checkId)).toBe(false)
  expect(lines.join('')).toContain('reading with [redacted]')
  expect(statSync(join(site.data, 'vault.key')).mode & 0o777).toBe(0o600)
})

test('the client secret of a provider is taken out of logs, results and stored calls', async () => {
  const oauth = await startOAuthServer()
  const lines: string[] = []
  const repeat = operation('v1:Calendar.Repeat', {
    model: 'async',
    requires: { authorization: [{ id: 'calendar', scopes: ['openid'] }] },
    async run(_args, ctx) {
      await ctx.authorization('calendar')
      ctx.log.info({}, `the provider refused ${CLIENT.secret}`)
      return { said: CLIENT.secret }
    },
  })
  const logTo = { write: (line: string) => lines.push(line) }
  const site = await startCalendarSite(oauth, { operations: [repeat], log: 'info', logTo })
  await browse(challengeIn(await site.call('v1:Calendar.Repeat')).url)

  await site.call('v1:Calendar.Repeat', {}, { requestId: 'r1' })
  const { body } = await site.ended('r1')
  await site.close()

  expect(body).toMatchObject({ state: 'complete', result: { said: '[redacted]' } })
  expect(lines.join('')).toContain('the provider refused [redacted]')
  const written = [...filesBelow(site.data).map((file) => readFileSync(file)), Buffer.from(lines.join(''))]
  expect(written.filter((place) => place.includes(CLIENT.secret))).toEqual([])
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [secret, encodeURIComponent(secret), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex')]
}

test('an authorization survives a restart, but not another vault key', async () => {
  const oauth = await startOAuthServer()
  const first = await startCalendarSite(oauth)
  await browse(challengeIn(await first.call('v1:Calendar.Read')).url)
  const { pathname: checkPath } = new URL(challengeIn(await first.call('v1:Calendar.Write')).checkUrl)
  await first.close()
  const { data } = first
  const again = (vault?: ServerOptions['vault']) => startCalendarSite(oauth, { data, ...(vault && { vault }) })

  const second = await again()
  expect((await second.call('v1:Calendar.Read')).status).toBe(200)
  await second.close()

  const changed = await again({ key: Buffer.alloc(32, 7) })
  const { status, body } = await changed.call('v1:Calendar.Read')
  expect([status, body.error?.code]).toEqual([503, 'PANIC_VAULT_KEY'])
  // A sealed record that cannot be opened cannot be completed, and this response is always 200.
  const check = await changed.request(checkPath)
  expect([check.status, await check.json()]).toEqual([200, { status: 'failed' }])
  await changed.close()

  const rotated = await again({ key: Buffer.alloc(32, 7), oldKeys: [readFileSync(join(data, 'vault.key'))] })
  expect((await rotated.call('v1:Calendar.Read')).status).toBe(200)
})

test('invalid settings are refused at the start, and do not affect the next start', async () => {
  const oauth = await startOAuthServer()
  const data = temporaryFolder()
  const start = (options: Partial<ServerOptions>) =>
    createServer({ operations: [], data, authorization: { providers: { calendar: providerAt(oauth) } }, ...options })
  const insecure = { providers: { calendar: { ...providerAt(oauth), allowInsecure: false } } }

  await expect(start({ authorization: insecure })).rejects.toThrow('calendar.issuer must be an https address')
  await expect(start({ vault: { key: 'short' } })).rejects.toThrow('vault.key must be 32 bytes')
  writeFileSync(join(data, 'vault.key'), 'cut off')
  await expect(start({})).rejects.toThrow('vault.key has 7 bytes, but a key has 32')
  vi.stubEnv('CALLPLANE_VAULT_KEY', 'short')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(start({})).rejects.toThrow('CALLPLANE_VAULT_KEY must be 32 bytes')

  vi.stubEnv('CALLPLANE_VAULT_KEY', Buffer.alloc(32, 1).toString('base64'))
  await (await start({})).close()
})
