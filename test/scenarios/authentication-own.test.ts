/** `auth.verify`: the application identifies the caller itself, over every protocol. */
import { createToken, Fault, operation, type VerifyCaller } from 'callplane'
import { describe, expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { ask as askMcp } from './mcp.ts'
import { contentsOf, expectNowhere } from './secret-search.ts'
import { answered, startSite } from './server.ts'

const whoAmI = operation('v1:people.whoAmI', {
  args: { type: 'object' },
  run: (_args, { caller }) => ({ who: `${caller.tenant}/${caller.issuer}/${caller.subject}` }),
})
const keep = operation('v1:notes.keep', { model: 'async', run: () => 'kept' })
const publish = operation('v1:notes.publish', { scopes: ['notes:write'], run: () => 'published' })

const CREDENTIAL = 'credential-of-the-envelope'

/** Sessions of a web application, as a cookie; devices send theirs in the envelope. */
const bySession: VerifyCaller = async ({ header, auth }) => {
  if (auth?.credential === CREDENTIAL) return { subject: auth.sub, tenant: 'acme' }
  const session = /session=(\w+)/.exec(header('Cookie') ?? '')?.[1]
  if (session === undefined) return undefined
  if (session === 'stale') throw new Fault('unauthenticated', 'The session is over. Log in again.')
  return { subject: session, tenant: 'acme', scopes: session === 'ada' ? ['notes:write'] : [] }
}

const as = (name: string) => ({ Cookie: `session=${name}` })
const json = (headers: Record<string, string>, body: object) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

describe('auth.verify', () => {
  test('names the caller of every protocol', async () => {
    const site = await startSite({
      operations: [whoAmI],
      auth: { verify: bySession },
      rest: { allowExecute: true },
    })
    const ask = async (path: string, body: object) => (await site.request(path, json(as('ada'), body))).text()

    const answers = await Promise.all([
      ask('/call', { op: 'v1:people.whoAmI' }),
      ask('/tools/call', { request: { tool_id: 'people.whoAmI', input: {} } }),
      ask('/tools/people_whoAmI/call', {}),
      ask('/tool-contract/v1/execute', {
        request_id: 'r-1',
        tool: { name: 'people_whoAmI', operation: 'invoke' },
        input: {},
      }),
      askMcp(site, 'tools/call', { name: 'people_whoAmI' }, { headers: as('ada') }).then(({ json }) =>
        JSON.stringify(json),
      ),
    ])

    for (const answer of answers) expect(answer).toContain('acme/application/ada')
  })

  test('no credential and a bad one are refused; scopes and ownership hold as for any caller', async () => {
    const site = await startSite({ operations: [whoAmI, keep, publish], auth: { verify: bySession } })

    const none = await site.call('v1:people.whoAmI')
    const stale = await site.call('v1:people.whoAmI', {}, undefined, { headers: as('stale') })
    const written = await site.call('v1:notes.publish', {}, undefined, { headers: as('ada') })
    const refused = await site.call('v1:notes.publish', {}, undefined, { headers: as('bob') })
    await site.call('v1:notes.keep', {}, { requestId: 'note-1' }, { headers: as('ada') })

    expect(none.status).toBe(401)
    expect(stale).toMatchObject({ status: 401, body: { error: { message: 'The session is over. Log in again.' } } })
    expect(written.status).toBe(200)
    expect(refused.status).toBe(403)
    expect((await site.ended('note-1', as('ada'))).body.result).toBe('kept')
    expect((await site.poll('note-1', as('bob'))).status).toBe(404)
  })

  test('tokens and JWTs are looked at where it knows no one', async () => {
    const { token, hash } = createToken()
    const tokens = [{ hash, kind: 'bearer' as const, subject: 'ci', scopes: [] }]
    const site = await startSite({ operations: [whoAmI], auth: { verify: bySession, tokens } })

    const session = await site.call('v1:people.whoAmI', {}, undefined, { headers: as('ada') })
    const known = await site.call('v1:people.whoAmI', {}, undefined, { headers: { Authorization: `Bearer ${token}` } })
    const bad = await site.call('v1:people.whoAmI', {}, undefined, { headers: { Authorization: 'Bearer nonsense' } })

    expect(session.body.result).toEqual({ who: 'acme/application/ada' })
    expect(known.body.result).toEqual({ who: 'main/callplane/ci' })
    expect(bad.status).toBe(401)
  })

  test('gets the auth block of the envelope, in a form as well, and its credential is kept nowhere', async () => {
    const lines: LogLine[] = []
    const site = await startSite({
      operations: [whoAmI, keep],
      auth: { verify: bySession },
      log: createMemoryLog(lines),
      requestLog: true,
    })
    const auth = { iss: 'devices', sub: 'dana', credentialType: 'session', credential: CREDENTIAL }
    const form = new FormData()
    form.append('envelope', JSON.stringify({ op: 'v1:people.whoAmI', auth }))

    const called = await site.call('v1:people.whoAmI', {}, undefined, { envelope: { auth } })
    const inForm = await answered(await site.request('/call', { method: 'POST', body: form }))
    const noted = await site.call('v1:notes.keep', {}, { requestId: 'note-1' }, { envelope: { auth } })
    const other = await site.call('v1:people.whoAmI', {}, undefined, {
      envelope: { auth: { ...auth, credential: 'something-else' } },
    })
    await site.close(1_000)

    expect(called.body.result).toEqual({ who: 'acme/application/dana' })
    expect(inForm.body.result).toEqual(called.body.result)
    expect(noted.status).toBe(202)
    expect(other.status).toBe(401)
    expectNowhere([CREDENTIAL], [...contentsOf(site.data), { name: 'log', content: JSON.stringify(lines) }])
  })

  test.each<[string, unknown]>([
    ['a subject that is no text', { subject: 7 }],
    ['no subject', {}],
    ['a text', 'ada'],
    ['the issuer of static tokens', { subject: 'ada', issuer: 'callplane' }],
    ['an issuer with a bar', { subject: 'ada', issuer: 'a|b' }],
    ['scopes as one text', { subject: 'ada', scopes: 'orders:read' }],
  ])('that returns %s is a mistake of the server, and lets no one in', async (_what, returned) => {
    const site = await startSite({ operations: [whoAmI], auth: { verify: (() => returned) as VerifyCaller } })

    const { status, body } = await site.call('v1:people.whoAmI')

    expect(status).toBe(500)
    expect(body.error?.message).toBe('The server could not authenticate the caller. Its log has the reason.')
  })
})
