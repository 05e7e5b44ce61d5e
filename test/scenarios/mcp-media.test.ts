/** Files in and out of tools: attachments as arguments, and results that are too large for a response as resources. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ask, askOlder } from './mcp.ts'
import { startSite } from './server.ts'

const read = operation('v1:scans.read', {
  args: z.strictObject({ language: z.string() }),
  media: [{ name: 'page', required: true, acceptedTypes: ['text/plain', 'image/*'], maxBytes: 20 }],
  run: async ({ language }, ctx) => `${language}: ${await ctx.media.page?.text()}`,
})

test('an operation that needs a file is a tool with one more argument', async () => {
  const site = await startSite({ operations: [read] })
  const { json } = await ask(site, 'tools/list')
  const [{ inputSchema }] = json.result.tools
  expect(inputSchema.required).toEqual(['language', 'attachments'])
  expect(inputSchema.properties.attachments.required).toEqual(['page'])

  const page = { mimeType: 'text/plain', data: btoa('bonjour') }
  const called = await ask(site, 'tools/call', {
    name: 'scans_read',
    arguments: { language: 'fr', attachments: { page } },
  })
  expect(called.json.result.content[0].text).toBe('fr: bonjour')
})

test('an operation that needs a file and is no tool is not listed, and cannot be called', async () => {
  const hidden = operation('v1:scans.hidden', {
    media: [{ name: 'page', required: true, acceptedTypes: ['text/plain'], maxBytes: 20 }],
    tool: false,
    run: () => 1,
  })
  const site = await startSite({ operations: [read, hidden] })

  const { json } = await ask(site, 'tools/list')
  const called = await ask(site, 'tools/call', { name: 'scans_hidden', arguments: {} })

  expect(json.result.tools.map(({ name }) => name)).toEqual(['scans_read'])
  expect(called.json.error).toMatchObject({ code: -32602 })
})

test.each([
  ['without the file', {}, 'page'],
  ['of another type', { page: { mimeType: 'audio/wav', data: 'AAAA' } }, 'audio/wav'],
  ['that is too large', { page: { mimeType: 'text/plain', data: btoa('x'.repeat(21)) } }, '20 bytes'],
  ['that is not base64', { page: { mimeType: 'text/plain', data: '***' } }, 'not base64'],
  ['with both ways', { page: { mimeType: 'text/plain', data: 'AAAA', uri: 'https://example.com/' } }, 'either'],
  ['for no slot', { cover: { mimeType: 'text/plain', data: 'AAAA' } }, 'cover'],
])('an attachment %s is refused in words for the model', async (_, attachments, named) => {
  const site = await startSite({ operations: [read] })
  const { json } = await askOlder(site, 'tools/call', {
    name: 'scans_read',
    arguments: { language: 'fr', attachments },
  })
  expect(json.result.isError).toBe(true)
  expect(json.result.content[0].text).toContain(named)
})

test('small pictures and texts are in the answer, the rest is a link that only the caller can read', async () => {
  const people = ['ann', 'ben'].map((subject) => ({ subject, ...createToken() }))
  const bytes = (count: number) => new Uint8Array(count).fill(65)
  const give = operation('v1:files.give', {
    args: z.object({ mimeType: z.string(), count: z.number() }),
    run: ({ mimeType, count }, ctx) => ctx.object(bytes(count), { mimeType }),
  })
  const write = operation('v1:files.write', {
    chunked: { mimeType: 'text/plain' },
    run: () => ['one ', 'two'],
  })
  const site = await startSite({
    operations: [give, write],
    auth: { tokens: people.map(({ subject, hash }) => ({ subject, hash, kind: 'bearer', scopes: [] })) },
  })
  const [ann, ben] = people.map(({ token }) => ({ headers: { Authorization: `Bearer ${token}` } }))
  const contentOf = async (name: string, args: object = {}) =>
    (await ask(site, 'tools/call', { name, arguments: args }, ann)).json.result.content[0]

  expect(await contentOf('files_give', { mimeType: 'image/png', count: 3 })).toEqual({
    type: 'image',
    mimeType: 'image/png',
    data: btoa('AAA'),
  })
  const embedded = await contentOf('files_give', { mimeType: 'text/csv', count: 3 })
  expect(embedded.resource).toMatchObject({ mimeType: 'text/csv', text: 'AAA' })

  const large = await contentOf('files_give', { mimeType: 'text/plain', count: 2_000_000 })
  expect(large).toMatchObject({ type: 'resource_link', mimeType: 'text/plain' })
  const { json } = await ask(site, 'resources/read', { uri: large.uri }, ann)
  expect(json.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' })
  expect(json.result.contents[0].text).toHaveLength(2_000_000)
  const foreign = await ask(site, 'resources/read', { uri: large.uri }, ben)
  expect(foreign.json.error.code).toBe(-32602)

  const chunked = await contentOf('files_write')
  const pieces = await ask(site, 'resources/read', { uri: chunked.uri }, ann)
  expect(pieces.json.result.contents[0].text).toBe('one two')
})
