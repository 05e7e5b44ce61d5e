import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, test } from 'vitest'
import { parseExternalSettings } from '../../src/backends/external/index.ts'
import { parseHttpSettings } from '../../src/backends/http/index.ts'
import { parseWebhookSettings } from '../../src/backends/webhook/index.ts'
import { compileWat, folderWith, WAT } from './wasm-modules.ts'

const endpoint = 'https://tools.example/run'

test('an omitted setting has its default', () => {
  const remote = { endpoint, allowPrivate: false, maxBytes: 4 * 1024 * 1024, headers: {} }

  expect(parseHttpSettings({ kind: 'http', endpoint })).toEqual(remote)
  expect(parseExternalSettings({ kind: 'external', endpoint })).toEqual(remote)
  expect(parseWebhookSettings({ kind: 'webhook', endpoint })).toEqual({ ...remote, pollMs: 2_000, maxPollMs: 2_000 })
})

test('declared settings are used', () => {
  const common = { endpoint, allowPrivate: true, maxBytes: 10, headers: { 'X-Team': 'blue' } }
  const lower = { ...common, headers: { 'x-team': 'blue' } }
  const waiting = { tool: 'render', pollMs: 10, maxPollMs: 20, callback: { secretRef: 'render-key' } }

  expect(parseHttpSettings({ kind: 'http', ...common })).toEqual(lower)
  expect(parseExternalSettings({ kind: 'external', ...common, tool: 't' })).toEqual({ ...lower, tool: 't' })
  expect(parseWebhookSettings({ kind: 'webhook', ...common, ...waiting })).toEqual({ ...lower, ...waiting })
})

const KINDS = { http: parseHttpSettings, external: parseExternalSettings, webhook: parseWebhookSettings }

const wrong: [setting: string, value: unknown][] = [
  ['endpoint', undefined],
  ['endpoint', 'tools.example'],
  ['endpoint', 'file:///etc/passwd'],
  ['endpoint', 'https://user:secret@tools.example/'],
  ['endpoint', 'https://tools.example/#part'],
  ['allowPrivate', 'yes'],
  ['maxBytes', 0],
  ['maxBytes', '1000'],
  ['headers', 'Accept: text/plain'],
  ['headers.Authorization', { Authorization: 'Bearer abc' }],
  ['headers.Content-Length', { 'Content-Length': '3' }],
  ['headers.X-A', { 'X-A': 'a\r\nX-B: b' }],
  ['headers.a b', { 'a b': 'c' }],
  ['endpont', endpoint],
]

test.each(
  Object.entries(KINDS).flatMap(([kind, parse]) => wrong.map(([name, value]) => [kind, name, value, parse] as const)),
)('%s: a wrong backend.%s is refused by name: %j', (kind, name, value, parse) => {
  const [setting = ''] = name.split('.')

  expect(() => parse({ kind, endpoint, [setting]: value })).toThrow(
    expect.objectContaining({ kind: 'policy-invalid', message: expect.stringContaining(`backend.${name}`) }),
  )
})

test.each([
  ['pollMs', -1],
  ['maxPollMs', 1_000],
  ['callback', { secret: 'inline' }],
  ['callback', 'render-key'],
  ['tool', ''],
])('webhook: a wrong backend.%s is refused by name: %j', (name, value) => {
  expect(() => parseWebhookSettings({ kind: 'webhook', endpoint, [name]: value })).toThrow(`backend.${name}`)
})

test('auth is refused at the start for a backend that does not use it, with advice', async () => {
  const folder = folderWith(await compileWat(WAT.echo))
  const start = (how: object) => {
    const convert = operation('v1:files.convert', { ...how, auth: { secretRef: 'tool' } } as never)
    return createServer({ operations: [convert], data: folder })
  }

  await expect(start({ backend: { kind: 'wasm', module: join(folder, 'tool.wasm') } })).rejects.toMatchObject({
    message: expect.stringMatching(
      /kind wasm does not use "auth"\. .*Leave "auth" out, or run the tool as a container/,
    ),
  })
  await expect(start({ run: () => 1 })).rejects.toMatchObject({
    message: expect.stringMatching(/kind handler does not use "auth"\. Leave it out/),
  })
})
