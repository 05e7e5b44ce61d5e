/** The duties of the port for calls, seen in the replies of protocols that have no other test of them. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { Fault } from '../../src/core/fault.ts'
import type { ToolExecutionResponse } from '../../src/protocols/contract/wire.ts'
import { browse, CLIENT, startOAuthServer } from '../security/oauth-server.ts'
import { type Site, startSite } from './server.ts'

interface Challenge {
  id: string
  url: string
  checkUrl: string
}

function post(site: Site, path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' }
  return site.request(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
}

/** Both protocols say it in the details of the failure, under the name that each has for them. */
const CALLING = {
  OpenCALL: async (site: Site) => {
    const { body } = await site.call('v1:calendar.read')
    return { code: body.error?.code, details: body.error?.cause }
  },
  Contract: async (site: Site) => {
    const asked = { request_id: crypto.randomUUID(), tool: { name: 'calendar_read' }, input: {} }
    const { error } = (await (await post(site, '/tool-contract/v1/execute', asked)).json()) as ToolExecutionResponse
    return { code: error?.code, details: error?.details }
  },
} as const

test.each([
  ['OpenCALL', 'REQUIREMENTS_MISSING'],
  ['Contract', 'permission_denied'],
] as const)(
  'a person is sent to the provider by %s, before the operation runs and when it finds its token withdrawn',
  async (protocol, code) => {
    const oauth = await startOAuthServer()
    let runs = 0
    const read = operation('v1:calendar.read', {
      requires: { authorization: [{ id: 'calendar', scopes: ['openid'] }] },
      async run(_args, ctx) {
        runs += 1
        await ctx.authorization('calendar')
        const details = { authorization: ['calendar'], secrets: [], userId: false }
        throw new Fault('requirements-missing', 'The authorization was withdrawn.', { retryable: false, details })
      },
    })
    const provider = { issuer: oauth.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, allowInsecure: true }
    const site = await startSite({ operations: [read], authorization: { providers: { calendar: provider } } })
    oauth.register(`${site.url}/authorizations/callback`)
    const challengeIn = ({ details }: { details: unknown }) =>
      (details as { authorization: readonly [Challenge] }).authorization[0]

    const refused = await CALLING[protocol](site)
    const runsBefore = runs
    await browse(challengeIn(refused).url, { login: 'ada' })
    const failed = await CALLING[protocol](site)

    expect([runsBefore, runs]).toEqual([0, 1])
    for (const answer of [refused, failed]) {
      expect(answer.code).toBe(code)
      const { id, url, checkUrl } = challengeIn(answer)
      expect([id, new URL(url).origin, new URL(checkUrl).origin]).toEqual(['calendar', oauth.issuer, site.url])
    }
  },
)

test.each([
  ['REST', '/tools/it_lasts/call', {}],
  ['OXP', '/tools/call', { tool_id: 'it.lasts' }],
] as const)('a client of %s that leaves stops its unrecorded call', async (_protocol, path, body) => {
  const began = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<unknown>()
  const lasts = operation('v1:it.lasts', {
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          stopped.resolve(signal.reason)
          reject(signal.reason)
        })
        began.resolve()
      }),
  })
  const site = await startSite({ operations: [lasts], rest: { allowExecute: true } })
  const leaving = new AbortController()

  const calling = post(site, path, body, leaving.signal).catch((thrown) => thrown.name)
  await began.promise
  leaving.abort()

  expect(await calling).toBe('AbortError')
  expect(await stopped.promise).toMatchObject({ kind: 'canceled' })
})
