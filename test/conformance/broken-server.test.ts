/** The suite can fail: for each rule broken here on purpose, the cases about it fail. */
import { createToken } from 'callplane'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConformanceCase, conformanceCases, type Target } from '../../src/testing/conformance/index.ts'
import { sideBySide } from '../../src/testing/conformance/side-by-side.ts'
import type { Breach } from './breaches/breach.ts'
import { contentBreaches } from './breaches/content.ts'
import { envelopeBreaches } from './breaches/envelopes.ts'
import { outcomeBreaches } from './breaches/outcomes.ts'
import { registryBreaches, tokenBreaches } from './breaches/registry.ts'
import { socketBreaches, streamBreaches } from './breaches/streams.ts'
import { type Hooks, startBrokenProxy } from './broken-proxy.ts'
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

/** They run side by side, and each test waits for its own. */
let running = new Map<Breach, Promise<void>>()
beforeAll(() => {
  const beside = breaches.filter(({ cases: ids }) => !ids.some((id) => caseOf(id).alone))
  const started = sideBySide(beside, expectRed)
  running = new Map(beside.map((breach, at) => [breach, started[at] as Promise<void>]))
})

test('through a proxy that breaks nothing, every case that is named below is met', { timeout: 60_000 }, async () => {
  const named = cases.filter(({ id }) => breaches.some((breach) => breach.cases.includes(id)))
  const server = (id: string) => (/^auth-|-private$|^key-per-caller$/.test(id) ? closed : open)
  const act = ({ id, run }: ConformanceCase) => server(id).behindProxy({}, run)

  await Promise.all(
    sideBySide(
      named.filter(({ alone }) => !alone),
      act,
    ),
  )
  for (const one of named.filter(({ alone }) => alone)) await act(one)
})

test('every case of the suite is shown to fail', () => {
  const shown = new Set(breaches.flatMap((breach) => breach.cases))
  expect(cases.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([])
  expect([...shown].filter((id) => !cases.some((each) => each.id === id))).toEqual([])
})

describe.each(Object.entries(groups))('broken %s', { timeout: 30_000 }, (_name, group) => {
  test.each(group.map((breach) => [breach.title, breach.cases.join(', '), breach] as const))(
    '%s: red is %s',
    (_title, _ids, breach) => running.get(breach) ?? expectRed(breach),
  )
})

async function expectRed({ cases: ids, start, behindToken }: Breach): Promise<void> {
  for (const id of ids) {
    const judging = (behindToken ? closed : open).behindProxy(start(), caseOf(id).run)
    await expect(judging, id).rejects.toMatchObject({ name: 'Unmet' })
  }
}

function caseOf(id: string): ConformanceCase {
  const found = cases.find((each) => each.id === id)
  if (!found) throw new Error(`There is no case ${id}.`)
  return found
}

function brokenServer(auth?: Parameters<typeof serveQuickstart>[0], tokens: Partial<Target> = {}) {
  let served: Awaited<ReturnType<typeof serveQuickstart>>
  beforeAll(async () => {
    served = await serveQuickstart(auth)
  })
  afterAll(() => served.close())
  return {
    /** Calls `act` with a server that breaks the rule. */
    async behindProxy(hooks: Hooks, act: (target: Target) => Promise<void>): Promise<void> {
      const proxy = await startBrokenProxy(served.url)
      proxy.break(hooks)
      try {
        await act({ url: proxy.url, ...quickstartParts('opencall'), ...tokens })
      } finally {
        await proxy.close()
      }
    },
  }
}
