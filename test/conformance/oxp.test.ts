/**
 * The published suites for OXP and OTC against the quickstart, with and without a token. Each case is also shown to
 * fail.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AuthConfig, createServer, createToken, operation } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as quickstart from '../../examples/quickstart/operations.ts'
import { conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { verifies } from '../requirements.ts'
import { toolBreaches, toolTokenBreaches } from './breaches/tools.ts'
import { type BrokenProxy, startBrokenProxy } from './broken-proxy.ts'
import { quickstartParts } from './quickstart-parts.ts'

const { token, hash } = createToken()
const auth: AuthConfig = { tokens: [{ hash, kind: 'bearer', subject: 'conformance', scopes: ['*'] }] }
const needsToken = (id: string) => id.startsWith('auth-')

const repositories = operation('v1:Code.List', {
  description: 'The repositories of a person.',
  requires: { authorization: [{ id: 'hub', scopes: ['repo'] }] },
  run: () => [],
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

describe.each([
  { protocol: 'oxp', base: '' },
  { protocol: 'otc', base: '/otc' },
] as const)('$protocol conformance', { timeout: 30_000 }, ({ protocol, base }) => {
  const cases = conformanceCases(protocol)
  const open = serve(base)
  const closed = serve(base, auth)
  const breaches = [...toolBreaches(protocol), ...toolTokenBreaches(token)]
  const serverFor = (id: string) => (needsToken(id) ? closed : open)

  for (const { id, title, requirements, run } of cases) {
    test(`${id}: ${title}`, async () => {
      verifies(...requirements)
      serverFor(id).proxy().break({})
      await run(serverFor(id).target)
    })
  }

  test('the cases have unique names, and those that need a token are skipped without one', async () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length)
    for (const { run } of cases.filter(({ id }) => needsToken(id))) {
      await expect(run(open.target)).rejects.toMatchObject({ name: 'Skip' })
    }
  })

  test('an operation the server does not have is a reason to skip', async () => {
    open.proxy().break({})
    const named = { ...open.target, operations: { sync: 'No.SuchTool' } }
    await expect(cases.find(({ id }) => id === 'call')?.run(named)).rejects.toMatchObject({
      name: 'Skip',
      message: 'The server has no tool No.SuchTool.',
    })
  })

  test.each(breaches.map((breach) => [breach.title, breach.cases.join(', '), breach] as const))(
    'broken: %s: red is %s',
    async (_title, _ids, { cases: ids, start }) => {
      for (const id of ids) {
        const { proxy, target } = serverFor(id)
        proxy().break(start())

        await expect(cases.find((each) => each.id === id)?.run(target), id).rejects.toMatchObject({ name: 'Unmet' })
      }
    },
  )

  test('every case of the suite is shown to fail', () => {
    const shown = new Set(breaches.flatMap((breach) => breach.cases))
    expect(cases.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([])
    expect([...shown].filter((id) => !cases.some((each) => each.id === id))).toEqual([])
  })
})

function serve(base: string, own?: AuthConfig): { target: Target; proxy: () => BrokenProxy } {
  const target: Target = { url: '', ...quickstartParts('oxp'), ...(own && { token }) }
  let proxy: BrokenProxy
  let close = async () => {}
  beforeAll(async () => {
    const data = await mkdtemp(join(tmpdir(), 'callplane-conformance-'))
    const operations = [...Object.values(quickstart), repositories]
    const server = await createServer({ operations, data, authorization, ...(own && { auth: own }) })
    const { url } = await server.listen({ port: 0 })
    proxy = await startBrokenProxy(url)
    target.url = proxy.url + base
    close = async () => {
      await proxy.close()
      await server.close(1_000)
      await rm(data, { recursive: true })
    }
  })
  afterAll(() => close())
  return { target, proxy: () => proxy }
}
