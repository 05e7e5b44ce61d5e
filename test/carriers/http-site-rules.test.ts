import { expect, test } from 'vitest'
import { LOOPBACK_HOSTS } from '../../src/carriers/http/index.ts'
import { createSiteRules } from '../../src/wire/http/site-rules.ts'
import { echo, route, say, startCarrier } from './http-fixture.ts'

const routes = [route('/call', { POST: echo })]

async function post(port: number, headers: string, method = 'POST') {
  return say(port, `${method} /call HTTP/1.1\r\n${headers}\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi`)
}

test.each([
  ['localhost', 200],
  ['LOCALHOST:4747', 200],
  ['127.0.0.1:1', 200],
  ['[::1]:4747', 200],
  ['evil.example', 403],
  ['localhost.evil.example', 403],
  ['127.0.0.1.nip.io', 403],
  ['localhost:80@evil.example', 403],
  ['localhost:x', 403],
])('bound to loopback, the Host %s is answered with %i', async (host, status) => {
  const { port } = await startCarrier(routes, { hosts: LOOPBACK_HOSTS })

  expect(await post(port, `Host: ${host}`)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a host that was accepted does not open the door to the next', async () => {
  const { port } = await startCarrier(routes, { hosts: LOOPBACK_HOSTS })

  await post(port, 'Host: localhost')

  expect(await post(port, 'Host: evil.example')).toContain('HOST_NOT_ALLOWED')
})

test.each([
  ['127.0.0.1', undefined],
  ['127.9.9.9', undefined],
  ['::1', undefined],
  ['::ffff:127.0.0.1', undefined],
  ['192.168.0.7', 'NOT_LOOPBACK'],
  ['::ffff:10.0.0.1', 'NOT_LOOPBACK'],
  ['fe80::1', 'NOT_LOOPBACK'],
  // A socket that was reset has no address any more.
  [undefined, 'NOT_LOOPBACK'],
])('for this machine only, a request from %s is refused with %s', (address, code) => {
  const rules = createSiteRules({ remote: 'loopback' })

  expect(rules?.objection({ method: 'GET', header: () => undefined }, address)?.code).toBe(code)
})

test.each([
  ['no Origin, as every client but a browser', 'Host: a.example', 200],
  ['its own origin', 'Host: a.example:81\r\nOrigin: http://a.example:81', 200],
  ['its own origin behind TLS', 'Host: a.example\r\nOrigin: https://a.example', 200],
  ['its public origin', 'Host: inner\r\nOrigin: https://public.example', 200],
  ['a named origin', 'Host: a.example\r\nOrigin: https://app.example', 200],
  ['another origin', 'Host: a.example\r\nOrigin: https://evil.example', 403],
  ['the same host on another port', 'Host: localhost:4747\r\nOrigin: http://localhost:3000', 403],
  ['an opaque origin', 'Host: a.example\r\nOrigin: null', 403],
  ['a cross-site form post without Origin', 'Host: a.example\r\nSec-Fetch-Site: cross-site', 403],
])('cross-site requests are refused before any handler: %s', async (_, headers, status) => {
  const { port } = await startCarrier(routes, {
    crossSite: 'refuse',
    cors: { origins: ['https://app.example'] },
    publicUrl: 'https://public.example/',
  })

  expect(await post(port, headers)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a named origin gets its preflight and may read the answer; another gets neither', async () => {
  const { port } = await startCarrier(routes, { cors: { origins: ['https://app.example'] } })
  const asking = 'Host: a\r\nAccess-Control-Request-Headers: authorization'

  const preflight = await post(port, `${asking}\r\nOrigin: https://app.example`, 'OPTIONS')
  const answer = await post(port, 'Host: a\r\nOrigin: https://app.example')
  const stranger = await post(port, `${asking}\r\nOrigin: https://evil.example`, 'OPTIONS')

  expect(preflight).toContain('Access-Control-Allow-Origin: https://app.example')
  expect(preflight).toContain('Access-Control-Allow-Methods: POST')
  expect(preflight).toContain('Access-Control-Allow-Headers: authorization')
  expect(answer).toContain('Access-Control-Allow-Origin: https://app.example')
  expect(answer).toContain('Vary: Origin')
  expect(stranger).not.toContain('Access-Control')
  expect(stranger).toContain('Vary: Origin')
})

test.each([
  ['two Host', 'Host: a.example\r\nHost: b.example\r\nContent-Length: 2'],
  ['the same Host twice', 'Host: a.example\r\nhOST: a.example\r\nContent-Length: 2'],
  ['two Authorization', 'Host: a\r\nAuthorization: Bearer one\r\nauthorization: Bearer two\r\nContent-Length: 2'],
  ['two Content-Type', 'Host: a\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2'],
  ['two Origin', 'Host: a\r\nOrigin: http://a\r\nOrigin: http://b\r\nContent-Length: 2'],
  ['two Content-Length', 'Host: a\r\nContent-Length: 2\r\nContent-Length: 2'],
  ['two lengths in one', 'Host: a\r\nContent-Length: 2, 2'],
  ['a length and chunks', 'Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked'],
  ['chunks twice', 'Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
  ['chunks that are not last', 'Host: a\r\nTransfer-Encoding: chunked, gzip'],
  ['no Host', 'Content-Length: 2'],
])('a request with %s is answered with 400 and reaches no handler', async (_what, headers) => {
  let handled = 0
  const count = route('/call', {
    POST: (exchange, params) => {
      handled++
      return echo(exchange, params)
    },
  })
  const { port } = await startCarrier([count], { hosts: ['a', 'a.example', 'b.example'] })

  const answer = await say(port, `POST /call HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n2\r\nhi\r\n0\r\n\r\n`)

  expect(answer).toMatch(/^HTTP\/1.1 400 /)
  expect(handled).toBe(0)
})
