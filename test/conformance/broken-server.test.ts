/** The suite can fail: for each rule broken here on purpose, the cases about it fail. */
import { createToken } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { contentBreaches } from './breaches/content.ts'
import { envelopeBreaches } from './breaches/envelopes.ts'
import { outcomeBreaches } from './breaches/outcomes.ts'
import { registryBreaches, tokenBreaches } from './breaches/registry.ts'
import { socketBreaches, streamBreaches } from './breaches/streams.ts'
import { type BrokenProxy, startBrokenProxy } from './broken-proxy.ts'
import { serveQuickstart } from './quickstart.ts'
import { quickstartParts } from './quickstart-parts.ts'

const cases = conformanceCases('opencall')
const [one, other] = [createToken(), createToken()]
const caller = (subject: string, { hash }: typeof one) => ({ hash, kind: 'bearer' as const, subject, scopes: ['*'] })
const open = brokenServer()
const closed = brokenServer(
  { tokens: [caller('conformance', one), caller('another', other)] },
  { token: one.token, otherToken: other.token },
)

const groups = {
  envelopes: envelopeBreaches,
  outcomes: outcomeBreaches,
  content: contentBreaches,
  registry: registryBreaches,
  streams: streamBreaches,
  sockets: socketBreaches,
  authentication: tokenBreaches(one.token, other.token),
}
const breaches = Object.values(groups).flat()

test('through a proxy that breaks nothing, every case that is named below is met', { timeout: 60_000 }, async () => {
  for (const { proxy } of [open, closed]) proxy().break({})
  // Notes are counted, so the cases that write some cannot run side by side.
  const counting = (id: string) => /^(?:key-|effects-|sync-retained)/.test(id)
  const named = cases.filter(({ id }) => breaches.some((breach) => breach.cases.includes(id)))
  const target = (id: string) => (/^auth-|-private$|^key-per-caller$/.test(id) ? closed.target : open.target)

  await Promise.all(named.filter(({ id }) => !counting(id)).map(({ id, run }) => run(target(id))))
  for (const { id, run } of named.filter((each) => counting(each.id))) await run(target(id))
})

test('every case of the suite is shown to fail', () => {
  const shown = new Set(breaches.flatMap((breach) => breach.cases))
  expect(cases.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([])
  expect([...shown].filter((id) => !cases.some((each) => each.id === id))).toEqual([])
})

describe.each(Object.entries(groups))('broken %s', { timeout: 30_000 }, (_name, group) => {
  test.each(group.map((breach) => [breach.title, breach.cases.join(', '), breach] as const))(
    '%s: red is %s',
    async (_title, _ids, { cases: ids, start, behindToken }) => {
      const { proxy, target } = behindToken ? closed : open
      for (const id of ids) {
        const broken = cases.find((each) => each.id === id)
        proxy().break(start())

        await expect(broken?.run(target), id).rejects.toMatchObject({ name: 'Unmet' })
      }
    },
  )
})

function brokenServer(auth?: Parameters<typeof serveQuickstart>[0], tokens: Partial<Target> = {}) {
  const target: Target = { url: '', ...quickstartParts('opencall'), ...tokens }
  let served: Awaited<ReturnType<typeof serveQuickstart>>
  let proxy: BrokenProxy
  beforeAll(async () => {
    served = await serveQuickstart(auth)
    proxy = await startBrokenProxy(served.url)
    target.url = proxy.url
  })
  afterAll(async () => {
    await proxy.close()
    await served.close()
  })
  return { target, proxy: () => proxy }
}
