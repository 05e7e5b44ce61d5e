/** The suite of the Tool Execution API can fail: for each rule broken here, the cases about it fail. */
import { createToken } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { restBreaches, restDisabledBreaches, restTokenBreaches } from './breaches/rest.ts'
import { type BrokenProxy, startBrokenProxy } from './broken-proxy.ts'
import { serveQuickstart } from './quickstart.ts'
import { quickstartParts } from './quickstart-parts.ts'

const cases = conformanceCases('rest')
const { token, hash } = createToken()
const groups = [
  { name: 'open', breaches: restBreaches, server: brokenServer() },
  {
    name: 'behind a token',
    breaches: restTokenBreaches,
    server: brokenServer({ tokens: [{ hash, kind: 'bearer', subject: 'conformance', scopes: ['*'] }] }, token),
  },
  { name: 'disabled', breaches: restDisabledBreaches, server: brokenServer(undefined, undefined, {}) },
]

test('every case of the suite is shown to fail', () => {
  const shown = new Set(groups.flatMap(({ breaches }) => breaches.flatMap((breach) => breach.cases)))
  expect(cases.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([])
  expect([...shown].filter((id) => !cases.some((each) => each.id === id))).toEqual([])
})

describe.each(groups)('broken, $name', { timeout: 30_000 }, ({ breaches, server }) => {
  test('through a proxy that breaks nothing, every case named below is met', async () => {
    server.proxy().break({})
    const named = cases.filter(({ id }) => breaches.some((breach) => breach.cases.includes(id)))
    for (const { run } of named) await run(server.target)
  })

  test.each(breaches.map((breach) => [breach.title, breach.cases.join(', '), breach] as const))(
    '%s: red is %s',
    async (_title, _ids, { cases: ids, start }) => {
      for (const id of ids) {
        const broken = cases.find((each) => each.id === id)
        server.proxy().break(start())

        await expect(broken?.run(server.target), id).rejects.toMatchObject({ name: 'Unmet' })
      }
    },
  )
})

function brokenServer(
  auth?: Parameters<typeof serveQuickstart>[0],
  withToken?: string,
  rest?: Parameters<typeof serveQuickstart>[1],
) {
  const target: Target = { url: '', ...quickstartParts('rest'), ...(withToken !== undefined && { token: withToken }) }
  let served: Awaited<ReturnType<typeof serveQuickstart>>
  let proxy: BrokenProxy
  beforeAll(async () => {
    served = await serveQuickstart(auth, rest)
    proxy = await startBrokenProxy(served.url)
    target.url = proxy.url
  })
  afterAll(async () => {
    await proxy.close()
    await served.close()
  })
  return { target, proxy: () => proxy }
}
