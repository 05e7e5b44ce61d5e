/**
 * The requirements of a tool: how a call without them is refused, and which of them a call may supply itself.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operation } from 'callplane'
import { describe, expect, test } from 'vitest'
import { expectSchema } from '../protocols/oxp/replies.ts'
import { verifies } from '../requirements.ts'
import { oxpClient } from './oxp.ts'
import { startSite } from './server.ts'

const sendMail = operation('v1:mail.send', {
  args: { type: 'object', properties: { to: { type: 'string' } } },
  requires: { authorization: [{ id: 'google', scopes: ['mail.send'] }], secrets: ['footer'], userId: true },
  run: async (_args, ctx) => ({
    token: (await ctx.authorization('google')).length,
    secret: ctx.secret('footer').length,
    user: ctx.userId,
  }),
})
const listRepositories = operation('v1:code.list', {
  requires: { authorization: [{ id: 'hub', scopes: ['repo'] }] },
  run: async (_args, ctx) => (await ctx.authorization('hub')).length,
})
const authorization = {
  providers: {
    hub: {
      authorizationUrl: 'https://hub.example/authorize',
      tokenUrl: 'https://hub.example/token',
      clientId: 'callplane',
    },
  },
}
const GIVEN = {
  authorization: [{ id: 'google', token: 'ya29.a-token-handed-over' }],
  secrets: [{ id: 'footer', value: 'kind-regards-in-secret' }],
  user_id: 'user-7',
}

describe('missing', () => {
  test('everything that is missing is named at once, before the tool runs', async () => {
    verifies('oxp:24', 'oxp:34')
    const { url } = await startSite({ operations: [sendMail] })
    const client = oxpClient(url)

    const flat = await client.call('mail.send', {})
    const wrapped = await client.send({ $schema: 'urn:oxp:1.0', request: { tool_id: 'mail.send' } })
    const otc = await client.send({ request: { tool_id: 'mail.send' } })

    for (const { status, body } of [flat, wrapped]) {
      expect(status).toBe(400)
      expect(body.message).toMatch(/authorization at google.*secret footer.*for which user/)
      expect(body.developer_message).toBe('Send the token for google in "context.authorization".')
      expect(body.missing_requirements).toEqual({ authorization: [], user_id: true, secrets: [{ id: 'footer' }] })
    }
    expect(otc).toMatchObject({ status: 400, body: { $schema: 'otc://1.0', message: flat.body.message } })
    expect('missing_requirements' in otc.body).toBe(false)
  })

  test('a supplied requirement is no longer missing, and a call that supplies all of them runs', async () => {
    const { url } = await startSite({ operations: [sendMail] })
    const client = oxpClient(url)

    const some = await client.call('mail.send', {}, { context: { ...GIVEN, secrets: [] } })
    const all = await client.call('mail.send', {}, { context: GIVEN })
    const otc = await client.send({ request: { tool_id: 'mail.send', context: GIVEN } })

    expect(some.body.missing_requirements).toEqual({ secrets: [{ id: 'footer' }] })
    for (const { body } of [all, otc]) {
      expect(body).toMatchObject({ success: true, value: { token: 24, secret: 22, user: 'user-7' } })
    }
  })

  test('a token that the other service refuses is 400, like a missing one', async () => {
    const { url } = await startSite({
      operations: [
        operation('v1:mail.read', {
          requires: { authorization: [{ id: 'google' }] },
          run: (_args, ctx) => ctx.reauthorize('google'),
        }),
      ],
    })

    const { status, body } = await oxpClient(url).call('mail.read', {}, { context: GIVEN })

    expect([status, body.missing_requirements]).toEqual([400, { authorization: [] }])
    expect(body.message).toContain('google refused the token')
  })

  test('a tool that requires nothing runs with nothing, and with more than it needs', async () => {
    const plain = operation('v1:test.plain', { run: (_args, ctx) => ctx.userId ?? 'nobody' })
    const { url } = await startSite({ operations: [plain] })
    const client = oxpClient(url)

    expect((await client.call('test.plain')).body.value).toBe('nobody')
    expect((await client.call('test.plain', {}, { context: { ...GIVEN, extra: 1 } })).body.value).toBe('user-7')
  })
})

describe('authorization challenges', () => {
  test('a person is sent to the provider, and the client can ask how that went', async () => {
    verifies('oxp:34', 'oxp:37')
    const { url } = await startSite({ operations: [listRepositories], authorization })
    const client = oxpClient(url)

    const { status, body } = await client.call('code.list')
    const [challenge] = body.missing_requirements.authorization
    const check = await fetch(challenge.check_url)
    const unknown = await fetch(challenge.check_url.replace(/[^/]+(?=\/status$)/, 'of-nobody'))
    const unreadable = await fetch(challenge.check_url.replace(/[^/]+(?=\/status$)/, '%zz'))

    expect(status).toBe(400)
    expect(body.missing_requirements).toEqual({
      authorization: [{ id: 'hub', url: expect.any(String), check_url: expect.any(String) }],
    })
    const at = new URL(challenge.url)
    expect([at.origin + at.pathname, at.searchParams.get('scope')]).toEqual(['https://hub.example/authorize', 'repo'])
    expect(challenge.check_url).toMatch(`${url}/`)
    for (const [answer, expected] of [
      [check, 'pending'],
      [unknown, 'failed'],
      [unreadable, 'failed'],
    ] as const) {
      expect(answer.status).toBe(200)
      const status = await answer.json()
      expectSchema('flat', '/components/schemas/AuthorizationChallengeCheckResponse', status)
      expect(status).toEqual({ status: expected })
    }
  })

  test('no authorization is requested while the user of a call is unknown', async () => {
    const theirs = operation('v1:code.theirs', {
      requires: { authorization: [{ id: 'hub' }], userId: true },
      run: () => null,
    })
    const { url } = await startSite({ operations: [theirs], authorization })
    const client = oxpClient(url)

    const nobody = await client.call('code.theirs')
    const somebody = await client.call('code.theirs', {}, { context: { user_id: 'user-7' } })

    expect(nobody.body.missing_requirements).toEqual({ authorization: [], user_id: true })
    expect(somebody.body.missing_requirements).toEqual({ authorization: [expect.objectContaining({ id: 'hub' })] })
  })

  test('OTC has no challenges, so its message says where to go', async () => {
    const { url } = await startSite({ operations: [listRepositories], authorization })

    const { status, body } = await oxpClient(url).send({ request: { tool_id: 'code.list' } })

    expect(status).toBe(400)
    expect(body.message).toMatch(/needs your authorization at hub\. Open https:\/\/hub\.example\/authorize\?/)
  })
})

test('the secrets of a call are in no log line, no stored byte and no reply', async () => {
  verifies('oxp:31')
  const lines: string[] = []
  const leaky = operation('v1:mail.leak', {
    requires: { authorization: [{ id: 'google' }], secrets: ['footer'] },
    sideEffecting: true,
    ttlSeconds: 60,
    run: async ({ how }, ctx) => {
      const both = `${await ctx.authorization('google')} ${ctx.secret('footer')}`
      ctx.log.info({ both }, `about to use ${both}`)
      if (how === 'fail') return ctx.fail('LEAK', both, { developerMessage: both, promptContent: both })
      if (how === 'throw') throw new Error(both)
      return { both }
    },
  })
  const site = await startSite({
    operations: [leaky, sendMail],
    log: 'debug',
    logTo: { write: (line) => lines.push(line) },
    requestLog: true,
  })
  const client = oxpClient(site.url)
  const broken = { ...GIVEN, secrets: [...GIVEN.secrets, ...GIVEN.secrets] }

  const answers = [
    await client.call('mail.leak', {}, { call_id: 'leak-1', context: GIVEN }),
    await client.call('mail.leak', { how: 'fail' }, { call_id: 'leak-2', context: GIVEN }),
    await client.call('mail.leak', { how: 'throw' }, { call_id: 'leak-3', context: GIVEN }),
    await client.call('mail.leak', { how: 'other' }, { call_id: 'leak-1', context: GIVEN }),
    await client.call('mail.leak', {}, { context: broken }),
    await client.call('mail.send', { to: 1 }, { context: GIVEN }),
    await client.call('No.Such', {}, { context: GIVEN }),
  ]
  await site.close()

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 400, 422, 400])
  const stored = readdirSync(site.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
  expect(stored.some((text) => text.includes('leak-1'))).toBe(true)
  expect(lines.some((line) => line.includes('about to use'))).toBe(true)
  const written = [...stored, ...lines, ...answers.map(({ text }) => text)]
  for (const text of written) {
    expect(text).not.toContain('a-token-handed-over')
    expect(text).not.toContain('kind-regards-in-secret')
  }
})
