/** A session of the console at two servers that share a store: what one of them knows, the other one knows, too. */
import { createToken, type OperationDefinition, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { createLeapingClock, type LeapingClock } from '../scenarios/leaping-clock.ts'
import type { Site } from '../scenarios/server.ts'
import { bearer, codeOf, logIn, logOut } from './logins.ts'

/** Two servers on one store, with this clock. */
export type OpenPair = (
  options: Pick<ServerOptions, 'auth'> & { operations: OperationDefinition[]; clock: LeapingClock },
) => Promise<readonly [Pick<Site, 'server' | 'call' | 'request'>, Pick<Site, 'server' | 'call' | 'request'>]>

const whose = operation('v1:it.is', { run: (_args, { caller }) => `${caller.issuer}|${caller.subject}` })
const ada = createToken()
const auth = { tokens: [{ hash: ada.hash, kind: 'bearer' as const, subject: 'ada', scopes: ['callplane:read'] }] }
const MINUTE = 60_000

export function sessionStories(openPair: OpenPair): void {
  async function open() {
    const clock = createLeapingClock()
    const sites = await openPair({ operations: [whose], auth, clock })
    /** The status and the caller at both servers. */
    const seen = (session: string) =>
      Promise.all(
        sites.map(async (site) => {
          const { status, body } = await site.call('v1:it.is', {}, {}, { headers: bearer(session) })
          return body.result ?? `${status} ${body.error?.code}`
        }),
      )
    return { clock, sites, here: sites[0], there: sites[1], seen }
  }

  const ADA = 'callplane|ada'
  const ENDED = '401 AUTH_REQUIRED'

  test('a session of one server is a session at the other', async () => {
    const { here, there, seen } = await open()

    const made = [await logIn(here, { token: ada.token }), await logIn(there, { token: ada.token })]

    for (const { body } of made) expect(await seen(body.session)).toEqual([ADA, ADA])
  })

  test('a code of one server works at the other, and once at all of them', async () => {
    const { here, there, sites } = await open()
    const code = await codeOf(here)

    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => logIn(sites[n % 2] ?? here, { code })))
    const elsewhere = await logIn(there, { code: await codeOf(here) })

    expect(all.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(all.filter(({ status }) => status === 401)).toHaveLength(19)
    expect(elsewhere.status).toBe(201)
  })

  test('a session that ends at one server is over at the other', async () => {
    const { here, there, seen } = await open()
    const { body } = await logIn(here, { token: ada.token })
    expect(await seen(body.session)).toEqual([ADA, ADA])

    const ended = await logOut(there, body.session)

    expect(ended).toBe(204)
    await expect.poll(() => seen(body.session), { timeout: 3_000 }).toEqual([ENDED, ENDED])
    expect(await logOut(here, body.session)).toBe(204)
  })

  test('a session that is used at one server stays alive at the other, and ends everywhere after eight hours', async () => {
    const { clock, here, there, seen } = await open()
    const { body } = await logIn(here, { token: ada.token })
    const headers = bearer(body.session)

    // Nobody uses it at the first server.
    for (let minutes = 25; minutes < 8 * 60; minutes += 25) {
      clock.leap(25 * MINUTE)
      expect((await there.call('v1:it.is', {}, {}, { headers })).body).toMatchObject({ result: ADA })
    }
    const used = await seen(body.session)
    clock.leap(25 * MINUTE)

    expect(used).toEqual([ADA, ADA])
    expect(await seen(body.session)).toEqual([ENDED, ENDED])
  })

  test('a session that nobody uses for an hour ends everywhere', async () => {
    const { clock, here, seen } = await open()
    const { body } = await logIn(here, { token: ada.token })
    expect(await seen(body.session)).toEqual([ADA, ADA])

    clock.leap(66 * MINUTE)

    expect(await seen(body.session)).toEqual([ENDED, ENDED])
  })
}
