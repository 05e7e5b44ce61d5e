/** The console's page and files, on every kind of host: headers, compressed forms, and paths that lead nowhere else. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../scenarios/server.ts'
import { buildPage, HOSTS, pageRoutes, SCRIPT } from './built-page.ts'

const APP = '/assets/app-1a2b3c4d.js'
const [, onNode] = HOSTS[0] as (typeof HOSTS)[0]

describe.each(HOSTS)('%s', (name, open) => {
  test('the explorer and the console are one page, with the list for browsers without scripts', async () => {
    const ask = await open(pageRoutes(buildPage(), [{ name: 'add', description: 'Adds.' }]))

    const [explorer, console] = [await ask('/explorer/'), await ask('/console/')]

    for (const { status, headers, text } of [explorer, console]) {
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(text).toContain('<script type="module" src="./assets/app-1a2b3c4d.js"></script>')
    }
    expect(explorer.text).toMatch(/<noscript><h1>Tools<\/h1>[\s\S]*<dt><a href="http:[^"]+\/explorer\/tools\/add">add/)
    expect(console.text).toContain('<a href="../explorer/">')
  })

  test('a path without its slash leads to the page, wherever the server is mounted', async () => {
    const ask = await open(pageRoutes(buildPage()))

    for (const page of ['explorer', 'console']) {
      const { status, headers } = await ask(`/${page}`)
      expect([status, headers.location]).toEqual([302, `${page}/`])
    }
  })

  test('files are sent with their type, and hashed ones are kept for ever', async () => {
    const ask = await open(pageRoutes(buildPage()))

    for (const page of ['/explorer', '/console']) {
      const script = await ask(page + APP)
      const icon = await ask(`${page}/icon.svg`)
      expect([script.status, script.headers['content-type'], script.text]).toEqual([
        200,
        'text/javascript; charset=utf-8',
        SCRIPT,
      ])
      expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(script.headers['x-content-type-options']).toBe('nosniff')
      expect([icon.headers['content-type'], icon.headers['cache-control']]).toEqual(['image/svg+xml', 'no-cache'])
      expect((await ask(`${page}/assets/deep/style-9.css`)).text).toBe('a{}')
    }
  })

  test('no path leads to another file', async () => {
    const ask = await open(pageRoutes(buildPage()))
    const paths = [
      '/explorer/assets/../../secret.txt',
      '/explorer/assets/%2e%2e/%2e%2e/secret.txt',
      '/explorer/assets/..%2f..%2fsecret.txt',
      '/explorer/assets/..\\..\\secret.txt',
      '/explorer/assets/linked.txt',
      '/explorer/assets/deep',
      '/explorer/assets/deep/',
      '/explorer/assets//deep/style-9.css',
      '/explorer/assets/app-1a2b3c4d.js%00.css',
      '/explorer/.sources',
      '/explorer/secret.txt',
      '/console/assets/../secret.txt',
      `/console${APP}.br`,
      `/console${APP}.gz`,
      '/console/index.html',
      '/console/constructor',
    ]

    for (const path of paths) {
      const { status, text } = await ask(path)
      expect([path, status]).toEqual([path, 404])
      expect(text).not.toContain('not for anybody')
    }
  })

  test('HEAD has the headers of GET and no body, and other methods are refused', async () => {
    const ask = await open(pageRoutes(buildPage()))

    for (const path of ['/explorer/', `/console${APP}`]) {
      const { headers } = await ask(path)
      const head = await ask(path, {}, 'HEAD')
      expect([head.status, head.text, head.headers.etag]).toEqual([200, '', headers.etag])
      if (name.includes('node')) expect(head.headers['content-length']).toBe(headers['content-length'])
      expect((await ask(path, {}, 'POST')).status).toBe(405)
    }
  })
})

test('the page may run its own files and nothing else, is shown in no frame, and tells no other site about itself', async () => {
  const ask = await onNode(pageRoutes(buildPage()))

  const { headers } = await ask('/explorer/')

  const policy = new Map(
    (headers['content-security-policy'] ?? '').split('; ').map((rule) => {
      const [name = '', ...values] = rule.split(' ')
      return [name, values.join(' ')]
    }),
  )
  expect(Object.fromEntries(policy)).toEqual({
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'font-src': "'self'",
    'connect-src': "'self'",
    'img-src': "'self' blob:",
    'media-src': "'self' blob:",
    'frame-src': 'blob:',
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    'require-trusted-types-for': "'script'",
    'trusted-types': 'callplane',
  })
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-cache',
  })
  expect(headers['set-cookie']).toBeUndefined()
})

test.each([
  ['br', 'br', brotliDecompressSync],
  ['gzip, deflate, br;q=1.0', 'br', brotliDecompressSync],
  ['gzip, br;q=0', 'gzip', gunzipSync],
  ['GZIP', 'gzip', gunzipSync],
  ['identity', undefined, (body: Buffer) => body],
  ['', undefined, (body: Buffer) => body],
  ['*;q=0, brr', undefined, (body: Buffer) => body],
])('a client that accepts %j gets the smallest form of a file', async (accepted, encoding, decode) => {
  const ask = await onNode(pageRoutes(buildPage()))

  const { headers, body } = await ask(`/explorer${APP}`, { 'Accept-Encoding': accepted })

  expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'Accept-Encoding'])
  expect(decode(body).toString()).toBe(SCRIPT)
  expect(headers['content-length']).toBe(String(body.length))
})

test('a page that the browser has is not sent again, until a tool is added', async () => {
  const tools = [{ name: 'add', description: '' }]
  const ask = await onNode(pageRoutes(buildPage(), tools))
  const first = await ask('/explorer/', { 'Accept-Encoding': 'gzip' })

  const again = await ask('/explorer/', { 'If-None-Match': `W/${first.headers.etag}` })
  tools.push({ name: 'more', description: '' })
  const changed = await ask('/explorer/', { 'If-None-Match': first.headers.etag ?? '' })

  expect(gunzipSync(first.body).toString()).toContain('>add</a>')
  expect([again.status, again.text]).toEqual([304, ''])
  expect([changed.status, changed.text.includes('>more</a>')]).toEqual([200, true])
})

test('of very many tools, the page lists the first ones and links to all', async () => {
  const tools = Array.from({ length: 501 }, (_, index) => ({ name: `tool${index}`, description: '' }))
  const ask = await onNode(pageRoutes(buildPage(), tools))

  const { text } = await ask('/explorer/')

  expect(text.match(/<dt>/g)).toHaveLength(500)
  expect(text).toMatch(/<a href="http:[^"]+\/explorer\/tools">All 501 tools<\/a>/)
})

test('names, descriptions and titles are text in the page', async () => {
  const hostile = '</noscript><script>alert(1)</script>$&'
  const ask = await onNode(pageRoutes(buildPage(), [{ name: hostile, description: hostile }], hostile))

  const { text } = await ask('/explorer/')

  expect(text.match(/<script/g)).toHaveLength(1)
  expect(text.match(/<\/noscript>/g)).toHaveLength(1)
  expect(text).toContain('<title>&lt;/noscript&gt;&lt;script&gt;alert(1)&lt;/script&gt;$&amp;</title>')
})

test('without built files, the explorer is the plain list, and there is no console', async () => {
  const ask = await onNode(pageRoutes(join(temporaryFolder(), 'none'), [{ name: 'add', description: '' }]))

  expect((await ask('/explorer/')).text).toMatch(/<style>[\s\S]*<dt>/)
  expect((await ask('/console/')).status).toBe(404)
})

test('a file that a new build has removed is absent', async () => {
  const folder = buildPage()
  const ask = await onNode(pageRoutes(folder))
  rmSync(join(folder, 'icon.svg'))

  expect((await ask('/console/icon.svg')).status).toBe(404)
})
