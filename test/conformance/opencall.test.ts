/** The published suite against the quickstart, without authentication and with a token. */
import { createToken } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConformanceCase, conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { sideBySide } from '../../src/testing/conformance/side-by-side.ts'
import { verifies } from '../requirements.ts'
import { serveQuickstart } from './quickstart.ts'
import { quickstartParts } from './quickstart-parts.ts'

const cases = conformanceCases('opencall')
/** Cases that cannot run against a server without authentication. */
const needsToken = (id: string) =>
  /^auth-(?:missing|invalid|by-header-only|for-the-outcome)$|-private$|^key-per-caller$/.test(id)
/** Further differences between a server without authentication and one with a token. */
const differs = (id: string) =>
  /^(?:redirect-|async-accepted|chunk-offsets|raw-bytes|located-status|inline$|stream-|socket-)/.test(id)

describe('OpenCALL conformance of an open server', { timeout: 30_000 }, () => {
  const target = servedTarget()
  testEach(
    cases.filter(({ id }) => !needsToken(id)),
    target,
  )

  test('the cases have unique names, and each cites its requirements', () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length)
    expect(cases.filter(({ requirements }) => requirements.length === 0)).toEqual([])
  })

  test('cases that need a token are skipped with a reason', async () => {
    for (const { run } of cases.filter((each) => needsToken(each.id))) {
      await expect(run(target)).rejects.toMatchObject({ name: 'Skip', needs: '--token' })
    }
  })

  test('the quickstart makes our choices where the specification leaves one', async () => {
    verifies('opencall:040', 'opencall:141')
    const greet = async (locale: string) => {
      const body = JSON.stringify({ op: 'v2:Greeter.Hello', args: { name: 'Ada' }, ctx: { requestId: locale, locale } })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${target.url}/call`, { method: 'POST', headers, body })
      expect(response.headers.get('cache-control')).toBe('no-store')
      return ((await response.json()) as { result: unknown }).result
    }

    expect(await greet('de-AT')).toEqual({ greeting: 'Hallo Ada' })
    expect(await greet('no-such-locale')).toEqual({ greeting: 'Hello Ada' })
  })

  test('an operation the server does not have is a reason to skip, too', async () => {
    const named = { ...target, operations: { file: 'v1:No.SuchOperation' } }
    const drawing = cases.find(({ id }) => id === 'raw-bytes')
    await expect(drawing?.run(named)).rejects.toMatchObject({
      name: 'Skip',
      message: 'The server has no operation v1:No.SuchOperation.',
    })
  })
})

describe('OpenCALL conformance of a server behind a token', { timeout: 30_000 }, () => {
  const [one, other] = [createToken(), createToken()]
  const caller = (subject: string, { hash }: typeof one) => ({ hash, kind: 'bearer' as const, subject, scopes: ['*'] })
  const auth = { tokens: [caller('conformance', one), caller('another', other)] }
  const target = servedTarget(auth, { token: one.token, otherToken: other.token })

  testEach(
    cases.filter(({ id }) => needsToken(id) || differs(id)),
    target,
  )
})

/** A test for each case. The cases run side by side, and each test waits for its own. */
function testEach(chosen: readonly ConformanceCase[], target: Target): void {
  const beside = chosen.filter(({ alone }) => !alone)
  let running: Promise<void>[] = []
  beforeAll(() => {
    running = sideBySide(beside, ({ run }) => run(target))
  })
  for (const one of [...beside, ...chosen.filter(({ alone }) => alone)]) {
    test(`${one.id}: ${one.title}`, async () => {
      verifies(...one.requirements)
      await (one.alone ? one.run(target) : running[beside.indexOf(one)])
    })
  }
}

/** Its address is filled in when the server is up. */
function servedTarget(auth?: Parameters<typeof serveQuickstart>[0], tokens: Partial<Target> = {}): Target {
  const target: Target = { url: '', ...quickstartParts('opencall'), ...tokens }
  let close = async () => {}
  beforeAll(async () => {
    const served = await serveQuickstart(auth)
    target.url = served.url
    close = served.close
  })
  afterAll(() => close())
  return target
}
