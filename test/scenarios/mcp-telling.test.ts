/** Notifications to an MCP client: a handler's log messages, changed lists, changed resources. */
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { META, STATELESS_VERSION } from '../../src/protocols/mcp/wire.ts'
import { askOlder, listen } from './mcp.ts'
import { createGate, type Site, startSite } from './server.ts'

const talk = operation('v1:it.talks', {
  run(_, ctx) {
    ctx.say('debug', 'a detail')
    ctx.say('warning', 'take care', { degrees: 40 })
    return 'said'
  },
})

function request(method: string, params: object, meta: object = {}) {
  const _meta = { [META.version]: STATELESS_VERSION, [META.capabilities]: {}, ...meta }
  return { jsonrpc: '2.0', id: 'r-1', method, params: { ...params, _meta } }
}
const headersFor = (method: string, name?: string) => ({
  'MCP-Protocol-Version': STATELESS_VERSION,
  'Mcp-Method': method,
  ...(name !== undefined && { 'Mcp-Name': name }),
})

async function begin(site: Site) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const { headers } = await askOlder(site, 'initialize', params, {})
  return { 'Mcp-Session-Id': headers.get('mcp-session-id') as string }
}

/** A resource that changes when a test says so. */
function createNews() {
  const watching = new Set<(uri?: string) => void>()
  return {
    watching,
    change() {
      for (const changed of watching) changed()
    },
    resource: {
      uri: 'news://today',
      name: 'news',
      read: () => 'all is well',
      watch(changed: (uri?: string) => void) {
        watching.add(changed)
        return () => void watching.delete(changed)
      },
    },
  }
}

test('a request with a level gets the messages of the handler from that level on; others get none', async () => {
  const site = await startSite({ operations: [talk] })
  const call = (meta: object) =>
    listen(site, request('tools/call', { name: 'it_talks' }, meta), headersFor('tools/call', 'it_talks'))

  const hears = await call({ [META.logLevel]: 'info' })
  const word = await hears.next()
  const answer = await hears.next()
  const deaf = await site.request('/mcp', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headersFor('tools/call', 'it_talks'),
    },
    body: JSON.stringify(request('tools/call', { name: 'it_talks' })),
  })

  expect(word).toMatchObject({
    method: 'notifications/message',
    params: { level: 'warning', logger: 'it_talks', data: { message: 'take care', data: { degrees: 40 } } },
  })
  expect(answer.result.content[0].text).toBe('said')
  expect(await deaf.json()).toMatchObject({ result: { content: [{ text: 'said' }] } })
})

test('a session gets the default level until it sets another, and gets messages while a long call runs', async () => {
  const gate = createGate()
  const slow = operation('v1:it.dawdles', {
    model: 'async',
    async run(_, ctx) {
      ctx.say('info', 'begun')
      return gate.pass()
    },
  })
  const site = await startSite({ operations: [talk, slow] })
  const session = await begin(site)
  const call = (name: string) =>
    listen(site, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }, session)

  const usual = await call('it_talks')
  const first = await usual.next()
  await askOlder(site, 'logging/setLevel', { level: 'debug' }, session)
  const all = await call('it_talks')
  const second = await all.next()
  const long = await call('it_dawdles')
  const early = await long.next()
  gate.open('done')
  const { json: refused } = await askOlder(site, 'logging/setLevel', { level: 'loud' }, session)

  expect(first.params.level).toBe('warning')
  expect(second.params).toMatchObject({ level: 'debug', data: 'a detail' })
  expect(early.params.data).toBe('begun')
  expect((await long.next()).result.content[0].text).toBe('done')
  expect(refused.error.code).toBe(-32602)
})

test('a stateless client that subscribes first gets the list of its subscriptions, and then only the changes', async () => {
  const news = createNews()
  const site = await startSite({ operations: [talk], mcp: { resources: [news.resource] } })
  const wanted = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['news://today', 'no://x'] }
  const stream = await listen(
    site,
    request('subscriptions/listen', { notifications: wanted }),
    headersFor('subscriptions/listen'),
  )

  const acknowledged = await stream.next()
  await expect.poll(() => news.watching.size).toBe(1)
  news.change()
  const updated = await stream.next()
  site.server.registry.replace('later', [])
  const changed = await stream.next()
  const narrow = await listen(
    site,
    request('subscriptions/listen', { notifications: { promptsListChanged: true } }),
    headersFor('subscriptions/listen'),
  )

  const mark = { _meta: { [META.subscriptionId]: 'r-1' } }
  expect(acknowledged).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['news://today'] }, ...mark },
  })
  expect(updated).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'news://today', ...mark } })
  expect(changed).toMatchObject({ method: 'notifications/tools/list_changed', params: mark })
  expect((await narrow.next()).params.notifications).toEqual({})
  expect(await narrow.next()).toMatchObject({ id: 'r-1', result: { resultType: 'complete' } })
})

test('a session gets changes of its subscribed resources on its own stream, and can unsubscribe', async () => {
  const news = createNews()
  const site = await startSite({ operations: [talk], mcp: { resources: [news.resource] } })
  const session = await begin(site)
  const stream = await listen(site, undefined, session)
  await expect.poll(() => news.watching.size).toBe(1)

  const subscribed = await askOlder(site, 'resources/subscribe', { uri: 'news://today' }, session)
  const unknown = await askOlder(site, 'resources/subscribe', { uri: 'news://never' }, session)
  news.change()
  const updated = await stream.next()
  await askOlder(site, 'resources/unsubscribe', { uri: 'news://today' }, session)
  news.change()
  site.server.registry.replace('later', [])
  const next = await stream.next()
  stream.leave()

  expect(subscribed.json.result).toEqual({})
  expect(unknown.json.error.code).toBe(-32602)
  expect(updated).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'news://today' } })
  expect(next.method).toBe('notifications/tools/list_changed')
  await expect.poll(() => news.watching.size).toBe(0)
})

test('who may not read a resource is not told that it changed', async () => {
  const news = createNews()
  const secret = { ...news.resource, read: () => Promise.reject(new Fault('forbidden', 'Not yours.')) }
  const site = await startSite({ operations: [talk], mcp: { resources: [secret] } })
  const session = await begin(site)
  const { json } = await askOlder(site, 'resources/subscribe', { uri: 'news://today' }, session)
  const stream = await listen(
    site,
    request('subscriptions/listen', { notifications: { resourceSubscriptions: ['news://today'] } }),
    headersFor('subscriptions/listen'),
  )
  expect(json.error.code).toBe(-32602)
  expect((await stream.next()).params.notifications).toEqual({})
})

test('without a session there is no stream, and closing the server ends all streams', async () => {
  const site = await startSite({ operations: [talk] })
  const none = await listen(site, undefined, {})
  const session = await begin(site)
  const stream = await listen(site, undefined, session)
  await site.close()
  expect(none.status).toBe(405)
  expect(stream.status).toBe(200)
})
