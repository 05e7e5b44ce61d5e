/** A call uses the authorization of the user it names, at every attempt and in every child call. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { browse, CLIENT, type OAuthServer, startOAuthServer } from '../security/oauth-server.ts'
import { oxpClient } from './oxp.ts'
import { createStepClock, type Site, startSite } from './server.ts'

const needed = { authorization: [{ id: 'calendar', scopes: ['openid'] }] }

function operationsAt(oauth: OAuthServer) {
  const whoami = operation('v1:calendar.whoami', {
    requires: needed,
    async run(_args, ctx) {
      const login = await oauth.whose(await ctx.authorization('calendar'))
      return login === undefined ? ctx.reauthorize('calendar') : { login, user: ctx.userId ?? null }
    },
  })
  const nested = operation('v1:calendar.nested', { run: (_args, ctx) => ctx.call(whoami, {}) })
  const secondTime = operation('v1:calendar.secondTime', {
    requires: needed,
    model: 'async',
    retry: { attempts: 2, backoffMs: 1_000 },
    async run(_args, ctx) {
      if (ctx.attempt === 1) ctx.fail('NOT_YET', 'Not at the first attempt.', { retryable: true })
      return { login: await oauth.whose(await ctx.authorization('calendar')), user: ctx.userId ?? null }
    },
  })
  const remembered = operation('v1:calendar.remembered', {
    requires: needed,
    cache: { policy: 'server', ttlSeconds: 60 },
    run: async (_args, ctx) => (await ctx.authorization('calendar')).length,
  })
  const personal = operation('v1:calendar.personal', { requires: { ...needed, userId: true }, run: () => null })
  return [whoami, nested, secondTime, remembered, personal]
}

async function start(oauth: OAuthServer, options: { clock?: ReturnType<typeof createStepClock> } = {}) {
  const provider = { issuer: oauth.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, allowInsecure: true }
  const site = await startSite({
    operations: operationsAt(oauth),
    authorization: { providers: { calendar: provider } },
    ...options,
  })
  oauth.register(`${site.url}/authorizations/callback`)
  return { site, client: oxpClient(site.url) }
}

const as = (user_id: string) => ({ context: { user_id } })

/** The user is asked for it, and logs in at the provider under this name. */
async function authorize({ url }: Site, user: string, login: string): Promise<void> {
  const { body } = await oxpClient(url).call('calendar.whoami', {}, as(user))
  await browse(body.missing_requirements.authorization[0].url, { login })
}

test('a client shows the challenge, asks how it went, and sends the call again', async () => {
  verifies('oxp:34', 'oxp:37')
  const oauth = await startOAuthServer()
  const { client } = await start(oauth)

  const { status, body } = await client.call('calendar.whoami')
  const [challenge] = body.missing_requirements.authorization
  const check = async () => (await fetch(challenge.check_url)).json()
  const before = await check()
  await browse(challenge.url, { login: 'ada' })
  const after = await check()
  const again = await client.call('calendar.whoami')

  expect([status, before, after]).toEqual([400, { status: 'pending' }, { status: 'completed' }])
  expect(again.body).toMatchObject({ success: true, value: { login: 'ada', user: null } })
})

test("each user's calls act with that user's authorization, nested ones included", async () => {
  const oauth = await startOAuthServer()
  const { site, client } = await start(oauth)
  await authorize(site, 'u1', 'ada')
  await authorize(site, 'u2', 'bob')

  const values = []
  for (const [tool, user] of [
    ['calendar.whoami', 'u1'],
    ['calendar.nested', 'u1'],
    ['calendar.nested', 'u2'],
  ] as const) {
    values.push((await client.call(tool, {}, as(user))).body.value)
  }
  const nobodys = await client.call('calendar.whoami')

  expect(values).toEqual([
    { login: 'ada', user: 'u1' },
    { login: 'ada', user: 'u1' },
    { login: 'bob', user: 'u2' },
  ])
  expect(nobodys.status).toBe(400)
})

test('a child call can use the token that was sent with its parent', async () => {
  const oauth = await startOAuthServer()
  const { site, client } = await start(oauth)
  await authorize(site, 'u1', 'ada')
  const token = oauth.issued.at(0) ?? ''

  const { body } = await client.call('calendar.nested', {}, { context: { authorization: [{ id: 'calendar', token }] } })

  expect(body.value).toEqual({ login: 'ada', user: null })
})

test('no authorization is requested while the user of a call is unknown', async () => {
  const oauth = await startOAuthServer()
  const { site } = await start(oauth)

  const { status, body } = await site.call('v1:calendar.personal')

  expect([status, body.error?.cause]).toEqual([403, { authorization: [{ id: 'calendar' }], secrets: [], userId: true }])
})

test('a later attempt acts for the same user as the first', async () => {
  const oauth = await startOAuthServer()
  const clock = createStepClock()
  const { site, client } = await start(oauth, { clock })
  await authorize(site, 'u1', 'ada')
  await browse((await client.call('calendar.whoami')).body.missing_requirements.authorization[0].url, { login: 'cleo' })

  const calling = client.call('calendar.secondTime', {}, as('u1'))
  await clock.timer(1_000)
  const { body } = await clock.passing(calling)

  expect(body.value).toEqual({ login: 'ada', user: 'u1' })
})

test('the same call_id for another user is another call, and is refused', async () => {
  const oauth = await startOAuthServer()
  const { site, client } = await start(oauth)
  await authorize(site, 'u1', 'ada')
  await authorize(site, 'u2', 'bob')

  const first = await client.call('calendar.whoami', {}, { call_id: 'c1', ...as('u1') })
  const repeated = await client.call('calendar.whoami', {}, { call_id: 'c1', ...as('u1') })
  const other = await client.call('calendar.whoami', {}, { call_id: 'c1', ...as('u2') })

  expect([first.body.value, repeated.body.value]).toEqual([first.body.value, { login: 'ada', user: 'u1' }])
  expect(other.status).toBe(400)
})

test("a result that was made with a person's token is not cached for others", async () => {
  const oauth = await startOAuthServer()
  const { client } = await start(oauth)
  const bringing = (token: string) => ({ context: { authorization: [{ id: 'calendar', token }] } })

  const one = await client.call('calendar.remembered', {}, bringing('a-token'))
  const other = await client.call('calendar.remembered', {}, bringing('a-longer-token'))

  expect([one.body.value, other.body.value]).toEqual([7, 14])
})

test('a token that the provider refuses early is renewed, or the person must authorize again', async () => {
  const oauth = await startOAuthServer()
  const { site, client } = await start(oauth)
  await authorize(site, 'u1', 'ada')
  await client.call('calendar.whoami', {}, as('u1'))

  await oauth.revokeAccess()
  const refused = await client.call('calendar.whoami', {}, as('u1'))
  const renewed = await client.call('calendar.whoami', {}, as('u1'))
  await oauth.revokeAll()
  await client.call('calendar.whoami', {}, as('u1'))
  const withdrawn = await client.call('calendar.whoami', {}, as('u1'))

  expect(refused.body).toMatchObject({ success: false, error: { can_retry: true } })
  expect(renewed.body).toMatchObject({ success: true, value: { login: 'ada' } })
  expect(withdrawn.body.missing_requirements.authorization).toHaveLength(1)
})

test('a token that came with the call and is refused is the client’s to replace', async () => {
  const oauth = await startOAuthServer()
  const { client } = await start(oauth)

  const { status, body } = await client.call(
    'calendar.whoami',
    {},
    { context: { authorization: [{ id: 'calendar', token: 'not-a-good-one' }] } },
  )

  expect([status, body.message]).toEqual([400, expect.stringContaining('Send another')])
})
