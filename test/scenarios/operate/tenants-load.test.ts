/** The load of the whole server is for its operators: in a server with several tenants, reading calls is not enough. */
import { createToken, operation, type ServerOptions } from 'callplane'
import { describe, expect, test } from 'vitest'
import { startSite } from '../server.ts'

const SERIES = 'v1:callplane.metrics.series'
const NODES = 'v1:callplane.nodes.list'
const DETAILS = 'v1:callplane.operations.get'

const add = operation('v1:math.add', { run: () => 3 })

function person(scopes: readonly string[], tenant?: string) {
  const { token, hash } = createToken()
  const entry = { hash, kind: 'bearer' as const, subject: `one of ${tenant}`, scopes, ...(tenant && { tenant }) }
  return { entry, headers: { Authorization: `Bearer ${token}` } }
}

type Person = ReturnType<typeof person>

async function open(people: readonly Person[], more: Partial<ServerOptions> = {}) {
  const auth = { tokens: people.map(({ entry }) => entry), ...more.auth }
  const site = await startSite({ operations: [add], ...more, auth })
  const ask = async (who: Person, op: string, args: object = {}) =>
    (await site.call(op, args, {}, { headers: who.headers })).body
  return { site, ask }
}

/** What a person with `callplane:read` sees of the load. */
async function seenBy(who: Person, ask: Awaited<ReturnType<typeof open>>['ask']) {
  const [series, nodes, details] = [
    await ask(who, SERIES),
    await ask(who, NODES),
    await ask(who, DETAILS, { op: 'v1:math.add' }),
  ]
  expect(details.error).toBeUndefined()
  const { rates } = details.result as { rates?: unknown }
  return {
    series: series.error?.code,
    nodes: nodes.error?.code,
    rates: rates as object | undefined,
    message: series.error?.message,
  }
}

const NOTHING = { series: 'INSUFFICIENT_SCOPE', nodes: 'INSUFFICIENT_SCOPE', rates: undefined }

test('a tenant does not see the load of another, unless its credential may see that of the whole server', async () => {
  const reader = person(['callplane:read'], 'north')
  const watcher = person(['callplane:read', 'callplane:metrics'], 'north')
  const other = person(['*'], 'south')
  const { ask } = await open([reader, watcher, other])
  await ask(other, 'v1:math.add')

  const seen = await seenBy(reader, ask)

  expect(seen).toMatchObject(NOTHING)
  expect(seen.message).toContain('callplane:metrics')
  expect(await seenBy(watcher, ask)).toMatchObject({ series: undefined, nodes: undefined, rates: { calls: 1 } })
})

test('in a server with one tenant, who reads calls sees the load', async () => {
  for (const tenant of [undefined, 'main']) {
    const reader = person(['callplane:read'], tenant)
    const { ask } = await open([reader])

    expect(await seenBy(reader, ask)).toMatchObject({ series: undefined, nodes: undefined, rates: { calls: 0 } })
  }
})

describe('a server has several tenants', () => {
  const jwt = [
    { issuer: 'https://issuer.example', audience: 'here', key: { secret: 'x'.repeat(32) }, tenantClaim: 'org' },
  ]
  const callerOf = () => ({ subject: 'ada', tenant: 'south' })
  const oidc = { issuer: 'https://issuer.example', clientId: 'console', callerOf }
  test.for<[string, Partial<ServerOptions>]>([
    ['if a claim names the tenant', { auth: { jwt } as ServerOptions['auth'] & object }],
    ['if the application identifies callers', { auth: { verify: () => undefined } }],
    ['if the application names who signs in', { publicUrl: 'https://callplane.example', console: { oidc } }],
  ])('%s', async ([, options]) => {
    const reader = person(['callplane:read'])
    const { ask } = await open([reader], options)

    expect(await seenBy(reader, ask)).toMatchObject(NOTHING)
  })

  test('once the program makes calls for another one', async () => {
    const reader = person(['callplane:read'])
    const { site, ask } = await open([reader])
    const before = await seenBy(reader, ask)
    site.server.client({ subject: 'job', tenant: 'main' })
    const same = await seenBy(reader, ask)
    site.server.client({ subject: 'job', tenant: 'south' })

    for (const seen of [before, same]) expect(seen.series).toBeUndefined()
    expect(await seenBy(reader, ask)).toMatchObject(NOTHING)
  })
})
