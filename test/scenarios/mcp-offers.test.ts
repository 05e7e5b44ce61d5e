/** What an application offers agents besides operations: resources and prompts. */
import { createToken, operation, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import { ask, askOlder } from './mcp.ts'
import { startSite } from './server.ts'

const mcp: NonNullable<ServerOptions['mcp']> = {
  resources: [
    {
      uri: 'docs://terms',
      name: 'terms',
      mimeType: 'text/markdown',
      read: (_, { caller }) => `For ${caller.subject}.`,
    },
    { uri: 'docs://{page}/v{version}', name: 'page', read: ({ page, version }) => `${page} ${version}` },
    { uri: 'logo://png', name: 'logo', mimeType: 'image/png', read: () => new Uint8Array([1, 2, 3]) },
  ],
  prompts: [
    {
      name: 'summarize',
      description: 'Sums an order up.',
      arguments: [
        {
          name: 'order',
          required: true,
          complete: (value) => ['o-1', 'o-2', 'x-3'].filter((id) => id.startsWith(value)),
        },
        { name: 'tone' },
      ],
      get: ({ order, tone = 'plain' }) => `Sum ${order} up, in a ${tone} tone.`,
    },
  ],
}

const operations = [operation('v1:it.greets', { public: true, run: () => 'hello' })]

test('resources are listed beside the registry, and read by their address and its parts', async () => {
  const site = await startSite({ operations, mcp })
  const { json: list } = await ask(site, 'resources/list')
  expect(list.result.resources.map(({ uri }: { uri: string }) => uri)).toEqual([
    'callplane://registry',
    'docs://terms',
    'logo://png',
  ])
  const { json: templates } = await askOlder(site, 'resources/templates/list')
  expect(templates.result.resourceTemplates[1]).toEqual({ uriTemplate: 'docs://{page}/v{version}', name: 'page' })
  const read = async (uri: string) => (await ask(site, 'resources/read', { uri })).json
  expect((await read('docs://terms')).result.contents).toEqual([
    { uri: 'docs://terms', mimeType: 'text/markdown', text: 'For anonymous.' },
  ])
  expect((await read('docs://gr%C3%BC%C3%9Fe/v2')).result.contents[0].text).toBe('grüße 2')
  expect((await read('logo://png')).result.contents[0].blob).toBe('AQID')
  for (const uri of ['docs://a/b/v2', 'docs://terms2', 'docsX//terms'])
    expect((await read(uri)).error.code).toBe(-32602)
})

test('prompts are listed, filled in and completed', async () => {
  const site = await startSite({ operations, mcp })
  const { json: discovered } = await ask(site, 'server/discover')
  expect(discovered.result.capabilities).toMatchObject({ prompts: {}, completions: {} })
  const { json: list } = await ask(site, 'prompts/list')
  expect(list.result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' })
  expect(list.result.prompts[0].arguments).toEqual([{ name: 'order', required: true }, { name: 'tone' }])
  const get = (args: object) => askOlder(site, 'prompts/get', { name: 'summarize', arguments: args })
  expect((await get({ order: 'o-1' })).json.result).toEqual({
    description: 'Sums an order up.',
    messages: [{ role: 'user', content: { type: 'text', text: 'Sum o-1 up, in a plain tone.' } }],
  })
  expect((await get({ tone: 'dry' })).json.error.message).toContain('"order"')
  expect((await get({ order: 7 })).json.error.code).toBe(-32602)
  const complete = (name: string, value: string) =>
    ask(site, 'completion/complete', { ref: { type: 'ref/prompt', name: 'summarize' }, argument: { name, value } })
  expect((await complete('order', 'o')).json.result.completion).toEqual({
    values: ['o-1', 'o-2'],
    total: 2,
    hasMore: false,
  })
  expect((await complete('tone', 'd')).json.result.completion.values).toEqual([])
})

test('a server without prompts has no such method', async () => {
  const site = await startSite({ operations })
  expect((await ask(site, 'prompts/list')).json.error.code).toBe(-32601)
})

test('a client without a credential gets none of it, although it gets public tools', async () => {
  const { hash } = createToken()
  const site = await startSite({
    operations,
    mcp,
    auth: { tokens: [{ hash, kind: 'bearer', subject: 'a', scopes: [] }] },
  })
  expect((await ask(site, 'tools/call', { name: 'it_greets' })).status).toBe(200)
  expect((await ask(site, 'prompts/get', { name: 'summarize', arguments: { order: 'o-1' } })).status).toBe(401)
  expect((await ask(site, 'resources/read', { uri: 'docs://terms' })).json.error.code).toBe(-32602)
})
