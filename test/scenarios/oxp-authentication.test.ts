/** Who may call tools: keys, tokens and JWTs in OXP and OTC, and the statuses that each document requires. */
import { createToken, operation } from 'callplane'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { oxpClient } from './oxp.ts'
import { startSite } from './server.ts'

const bearer = createToken()
const key = createToken()
const SECRET = 'a shared secret of at least thirty-two bytes'
const ISSUER = 'https://login.example'
const auth = {
  tokens: [
    { hash: bearer.hash, kind: 'bearer' as const, subject: 'ada', scopes: [] },
    { hash: key.hash, kind: 'apiKey' as const, subject: 'partner', scopes: [] },
  ],
  jwt: [{ issuer: ISSUER, audience: 'callplane', key: { secret: SECRET } }],
}

const whoAmI = operation('v1:people.whoAmI', { run: (_args, ctx) => ctx.caller.subject })
const ping = operation('v1:status.ping', { public: true, run: (_args, ctx) => ctx.caller.subject })
const scoped = operation('v1:orders.read', { scopes: ['orders:read'], run: () => null })

function jwt({
  exp = '5m',
  aud = 'callplane',
  secret = SECRET,
}: {
  exp?: string | null
  aud?: string
  secret?: string
}) {
  const token = new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setIssuer(ISSUER).setSubject('jo').setAudience(aud)
  return (exp === null ? token : token.setExpirationTime(exp)).sign(new TextEncoder().encode(secret))
}

describe('credentials', () => {
  test('a bearer token, a JWT signed with the shared secret and a key in either header each say who calls', async () => {
    verifies('oxp:03')
    const { url } = await startSite({ operations: [whoAmI], auth })
    const client = oxpClient(url)
    const subjectFor = async (headers: Record<string, string>) =>
      (await client.call('people.whoAmI', {}, {}, headers)).body.value

    expect(await subjectFor({ Authorization: `Bearer ${bearer.token}` })).toBe('ada')
    expect(await subjectFor({ Authorization: `Bearer ${await jwt({})}` })).toBe('jo')
    expect(await subjectFor({ 'OXP-API-Key': key.token })).toBe('partner')
    expect(await subjectFor({ 'OTC-API-Key': key.token })).toBe('partner')
    expect(await subjectFor({ 'X-API-Key': key.token })).toBe('partner')
  })

  test('a JWT that has no more than its pages ask for, an expiry, is enough where the secret says who calls', async () => {
    const shared = { jwt: [{ key: { secret: SECRET }, subject: 'gateway' }] }
    const { url } = await startSite({ operations: [whoAmI], auth: shared })
    const bare = new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('5m')
    const token = await bare.sign(new TextEncoder().encode(SECRET))

    const answer = await oxpClient(url).call('people.whoAmI', {}, {}, { Authorization: `Bearer ${token}` })

    expect(answer.body).toMatchObject({ success: true, value: 'gateway' })
  })

  test('none, a bad one, an expired one and two at once are 400 on a call and 401 on the list, in each dialect', async () => {
    verifies('oxp:03', 'oxp:24', 'oxp:29', 'oxp:30')
    const { url } = await startSite({ operations: [whoAmI], auth })
    const client = oxpClient(url)
    const call = { tool_id: 'people.whoAmI' }
    const bad: Record<string, string>[] = [
      {},
      { Authorization: 'Bearer nonsense' },
      { Authorization: `Bearer ${key.token}` },
      { Authorization: `Bearer ${await jwt({ exp: '-1m' })}` },
      { Authorization: `Bearer ${await jwt({ exp: null })}` },
      { Authorization: `Bearer ${await jwt({ aud: 'another' })}` },
      { Authorization: `Bearer ${await jwt({ secret: SECRET.replace('shared', 'stolen') })}` },
      { 'OXP-API-Key': bearer.token },
      { 'OXP-API-Key': key.token, 'OTC-API-Key': key.token },
      { 'OXP-API-Key': key.token, Authorization: `Bearer ${bearer.token}` },
    ]

    for (const headers of bad) {
      const answers = [
        await client.send(call, headers),
        await client.send({ $schema: 'urn:oxp:1.0', request: call }, headers),
        await client.send({ request: call }, headers, '/otc/tools/call'),
      ]
      const list = await client.list('/tools', headers)

      expect(answers.map(({ status, body }) => [status, body.$schema])).toEqual([
        [400, undefined],
        [400, 'urn:oxp:1.0'],
        [400, 'otc://1.0'],
      ])
      expect([list.status, list.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      for (const { text } of answers) for (const value of Object.values(headers)) expect(text).not.toContain(value)
    }
  })

  test('a server can be told to answer 401 to calls as well', async () => {
    const open = operation('v1:code.list', {
      public: true,
      requires: { authorization: [{ id: 'hub' }] },
      run: () => null,
    })
    const hub = { authorizationUrl: 'https://hub.example/a', tokenUrl: 'https://hub.example/t', clientId: 'us' }
    const { url } = await startSite({
      operations: [whoAmI, scoped, open],
      auth,
      authorization: { providers: { hub } },
      oxp: { unauthorizedStatus: 401 },
    })
    const client = oxpClient(url)

    const none = await client.call('people.whoAmI')
    const personal = await client.call('code.list')
    const known = await client.call('orders.read', {}, {}, { 'OXP-API-Key': key.token })

    for (const { status, headers } of [none, personal])
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    // Who it is, is known; that they may not is another matter.
    expect(known).toMatchObject({ status: 400, body: { message: expect.stringContaining('orders:read') } })
  })

  test('without a credential only public tools exist, and the names of others stay hidden', async () => {
    verifies('oxp:29')
    const { url } = await startSite({ operations: [whoAmI, ping], auth })
    const client = oxpClient(url)

    const open = await client.call('status.ping')
    const closed = await client.call('people.whoAmI')
    const absent = await client.call('people.whoIsIt')
    const bad = await client.call('status.ping', {}, {}, { Authorization: 'Bearer nonsense' })

    expect(open.body).toMatchObject({ success: true, value: 'anonymous' })
    expect([closed.status, closed.text]).toEqual([400, absent.text])
    expect([absent.status, bad.status]).toEqual([400, 400])
  })

  test('without authentication, a credential is ignored', async () => {
    verifies('oxp:03')
    const { url } = await startSite({ operations: [whoAmI] })
    const client = oxpClient(url)

    for (const headers of [
      { Authorization: 'Bearer nonsense' },
      { Authorization: 'Basic x' },
      { 'OXP-API-Key': 'x' },
    ]) {
      expect((await client.call('people.whoAmI', {}, {}, headers)).status).toBe(200)
      expect((await client.list('/tools', headers)).status).toBe(200)
    }
  })

  test('health needs none', async () => {
    const { url } = await startSite({ operations: [whoAmI], auth })

    for (const path of ['/health', '/otc/health']) expect((await fetch(url + path)).status).toBe(200)
  })

  test('a server that others can reach does not start without authentication', async () => {
    verifies('oxp:04')
    const { server } = await startSite({ operations: [whoAmI] })

    await expect(server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow('Configure auth first')
  })

  test('one caller’s call_id is not another’s', async () => {
    const { url } = await startSite({ operations: [whoAmI], auth })
    const client = oxpClient(url)
    const as = (headers: Record<string, string>) => client.call('people.whoAmI', {}, { call_id: 'same' }, headers)

    const ada = await as({ Authorization: `Bearer ${bearer.token}` })
    const partner = await as({ 'OXP-API-Key': key.token })

    expect([ada.body.value, partner.body.value]).toEqual(['ada', 'partner'])
  })
})
