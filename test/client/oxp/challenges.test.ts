/** Authorization challenges: shown to a person, polled, and then the call is repeated. */
import { operation } from 'callplane'
import { type ChallengeInfo, createOxpClient } from 'callplane/client/oxp'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { onlyOne, openDesk, PEOPLE } from '../../scenarios/approving.ts'
import { createStepClock, startSite } from '../../scenarios/server.ts'
import { browse, CLIENT, startOAuthServer } from '../../security/oauth-server.ts'
import { failureOf, type Scripted, startScripted, succeeds } from './scripted-server.ts'

function challenge(url: string, checkUrl?: string): Scripted {
  const authorization = [{ id: 'hub', url, ...(checkUrl !== undefined && { check_url: checkUrl }), color: 'blue' }]
  return { status: 400, body: { message: 'Authorize first', missing_requirements: { authorization } } }
}

const status = (value: unknown): Scripted => ({ body: { status: value, more: 1 } })

describe('our server', () => {
  const provider = (issuer: string) => ({
    calendar: { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, scopes: ['openid'], allowInsecure: true },
  })

  async function startCalendar() {
    const oauth = await startOAuthServer()
    const read = operation('v1:Calendar.Read', {
      requires: { authorization: [{ id: 'calendar', scopes: ['openid', 'calendar.read'] }] },
      run: async (_args, ctx) => oauth.whose(await ctx.authorization('calendar')),
    })
    const site = await startSite({ operations: [read], authorization: { providers: provider(oauth.issuer) } })
    oauth.register(`${site.url}/authorizations/callback`)
    return site
  }

  test.each(['oxp', 'oxp-wrapped'] as const)('%s: a person authorizes, and the same call runs', async (protocol) => {
    verifies('oxp:35', 'oxp:36', 'oxp:37', 'oxp:38')
    const { url } = await startCalendar()
    const clock = createStepClock()
    const shown: ChallengeInfo[] = []
    const checks: string[] = []
    const oxp = createOxpClient({
      url,
      protocol,
      clock,
      onChallenge: (challenge) => void shown.push(challenge),
      fetch: async (address, init) => {
        const response = await fetch(address, init)
        if (init?.method === 'GET') checks.push(await response.clone().text())
        return response
      },
    })

    const calling = oxp.call('Calendar.Read', {}, { callId: 'read-1' })
    await clock.timer(2_000)
    clock.advance(2_000)
    await clock.timer(2_000)
    await browse(shown[0]?.url ?? '', { login: 'ada' })
    clock.advance(2_000)

    expect(await calling).toMatchObject({ value: 'ada', callId: 'read-1' })
    expect(shown).toEqual([
      {
        id: 'calendar',
        toolId: 'Calendar.Read',
        url: expect.stringContaining('/auth'),
        checkUrl: expect.stringContaining(url),
      },
    ])
    expect(checks).toEqual(['{"status":"pending"}', '{"status":"completed"}'])
  })

  test('a person declines: the call ends with that, and the tool did not run', async () => {
    const { url } = await startCalendar()
    const clock = createStepClock()
    const oxp = createOxpClient({
      url,
      clock,
      onChallenge: (challenge) => browse(challenge.url, { declines: true }),
    })

    const failing = failureOf(oxp.call('Calendar.Read'))
    await clock.timer(2_000)
    clock.advance(2_000)

    expect(await failing).toMatchObject({ code: 'CHALLENGE_FAILED', outcome: 'refused' })
  })

  test('without anybody to show it to, the error has the challenge', async () => {
    const { url } = await startCalendar()

    const error = await failureOf(createOxpClient({ url }).call('Calendar.Read'))

    expect(error).toMatchObject({ code: 'MISSING_REQUIREMENTS', outcome: 'refused' })
    expect(error.challenges).toMatchObject([{ id: 'calendar', url: expect.stringMatching(/^http/) }])
  })

  test('a call that waits for an approval runs once it is approved', async () => {
    const desk = await openDesk()
    const clock = createStepClock()
    const oxp = createOxpClient({
      url: desk.url,
      clock,
      token: PEOPLE.agent.headers.Authorization.slice('Bearer '.length),
      onChallenge: async () => desk.decide((await onlyOne(desk)).id),
    })

    const calling = oxp.call('orders.refund', { amount: 500 })
    await clock.timer(2_000)
    clock.advance(2_000)

    expect((await calling).value).toEqual({ refunded: 500 })
    expect(desk.ran).toEqual([{ amount: 500 }])
  })
})

describe('where the credential goes', () => {
  test('a check at another origin gets no credential, and no header of the client', async () => {
    const other = await startScripted(status('completed'))
    const { url, received } = await startScripted(challenge('https://hub.example/login', `${other.url}/s`), succeeds(1))
    const oxp = createOxpClient({ url, token: 't', headers: { 'X-Key': 'k' }, onChallenge: () => {}, pollMs: 0 })

    await oxp.call('a.b')

    expect(received.map(({ headers }) => [headers.authorization, headers['x-key']])).toEqual([
      ['Bearer t', 'k'],
      ['Bearer t', 'k'],
    ])
    expect(other.received[0]?.headers).not.toHaveProperty('authorization')
    expect(other.received[0]?.headers).not.toHaveProperty('x-key')
  })

  test('a check at the own origin or at a trusted one gets it', async () => {
    const other = await startScripted(status('completed'))
    const { url, received } = await startScripted(
      challenge('https://hub.example/login', `${other.url}/s`),
      challenge('/login', '/status'),
      status('completed'),
      succeeds(1),
    )
    const shown: string[] = []
    const oxp = createOxpClient({
      url: `${url}/`,
      token: 't',
      trustedOrigins: [other.url],
      onChallenge: (challenge) => void shown.push(challenge.url),
      pollMs: 0,
    })

    await oxp.call('a.b')

    expect(other.received[0]?.headers.authorization).toBe('Bearer t')
    expect(received[2]).toMatchObject({ path: '/status', headers: { authorization: 'Bearer t' } })
    expect(shown).toEqual(['https://hub.example/login', `${url}/login`])
  })
})

describe('servers that lie', () => {
  test.each([
    ['javascript:alert(document.cookie)', undefined],
    ['data:text/html,<script>1</script>', undefined],
    ['https://hub.example/login', 'file:///etc/passwd'],
    ['https://hub.example/login', 'https://user:secret@hub.example/status'],
    ['https://hub.example/login', 'http://[fd00::1]/status'],
    ['https://hub.example/login', 'http://169.254.169.254/latest/meta-data'],
    ['https://hub.example/login', 'http://2130706433/status'],
    ['https://hub.example/login', 'http://printer.local./status'],
  ])('the challenge %s, %s is neither shown nor fetched', async (page, check) => {
    const fetched: unknown[] = []
    const shown: unknown[] = []
    const body = { message: 'm', missing_requirements: { authorization: [{ id: 'x', url: page, check_url: check }] } }
    const oxp = createOxpClient({
      url: 'https://tools.example',
      onChallenge: (challenge) => shown.push(challenge),
      fetch: async (address) => {
        fetched.push(address)
        return Response.json(body, { status: 400 })
      },
    })

    const error = await failureOf(oxp.call('a.b'))

    expect(error).toMatchObject({ code: 'UNSAFE_CHALLENGE', outcome: 'refused', toolId: 'a.b' })
    expect([shown, fetched]).toEqual([[], ['https://tools.example/tools/call']])
  })

  test('a check that never completes ends with the deadline, and unknown states count as pending', async () => {
    const { url, received } = await startScripted(challenge('/login', '/status'), status('thinking'), status('pending'))
    const clock = createStepClock()
    const oxp = createOxpClient({ url, clock, onChallenge: () => {}, timeoutMs: 5_000 })

    const failing = failureOf(oxp.call('a.b'))
    for (const _ of [1, 2, 3]) {
      await clock.timer(2_000)
      clock.advance(2_000)
    }

    expect(await failing).toMatchObject({ code: 'TIMED_OUT', outcome: 'refused', toolId: 'a.b' })
    expect(received.filter(({ path }) => path === '/status')).toHaveLength(2)
  })

  test('a check that answers nonsense three times in a row ends the call; once does not', async () => {
    const page: Scripted = (response) => response.end('<html>')
    const unsteady = await startScripted(challenge('/login', '/status'), page, status('completed'), succeeds(1))
    const broken = await startScripted(challenge('/login', '/status'), page)
    const options = { onChallenge: () => {}, pollMs: 0 }

    const { value } = await createOxpClient({ url: unsteady.url, ...options }).call('a.b')
    const error = await failureOf(createOxpClient({ url: broken.url, ...options }).call('a.b'))

    expect(value).toBe(1)
    expect(error).toMatchObject({ code: 'CHALLENGE_FAILED', outcome: 'refused' })
    expect(error.message).toContain('a body that is not JSON')
    expect(broken.received).toHaveLength(4)
  })

  test('a challenge that is asked for again and again ends the call', async () => {
    const { url, received } = await startScripted((response, { path }) => {
      const { body } = (path === '/status' ? status('completed') : challenge('/l', '/status')) as { body: unknown }
      response.writeHead(path === '/status' ? 200 : 400, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(body))
    })

    const error = await failureOf(createOxpClient({ url, onChallenge: () => {}, pollMs: 0 }).call('a.b'))

    expect(error.code).toBe('MISSING_REQUIREMENTS')
    expect(received.filter(({ path }) => path === '/tools/call')).toHaveLength(4)
  })

  test('without a check_url the program itself says that the challenge is completed', async () => {
    const willing = await startScripted(challenge('https://hub.example/login'), succeeds(1))
    const unwilling = await startScripted(challenge('https://hub.example/login'), succeeds(1))

    const { value } = await createOxpClient({ url: willing.url, onChallenge: async () => true }).call('a.b')
    const error = await failureOf(createOxpClient({ url: unwilling.url, onChallenge: () => {} }).call('a.b'))

    expect([value, error.code, unwilling.received.length]).toEqual([1, 'MISSING_REQUIREMENTS', 1])
  })
})
