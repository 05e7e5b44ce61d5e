import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { createRequestListener } from '../../src/carriers/http/index.ts'
import { echo, refuse, route, say, startCarrier, text } from './http-fixture.ts'

const endsInDigit = (path: string) => /\d$/.test(path)

const routes = [
  route('/call', { POST: echo }),
  route('/ops/{id}', { GET: (exchange, { id }) => text(`${id}?${exchange.query}`), DELETE: () => text('', 204) }),
  route('/ops/{id}/{part}', { GET: (_, { id, part }) => text(`${part} of ${id}`) }),
  { ...route('/ops/{path+}/{end}', { GET: (_, { path, end }) => text(`${end} below ${path}`) }), accepts: endsInDigit },
  route('/ops/{id}/chunks', { GET: (_, { id }) => text(`all chunks of ${id}`) }),
]

test.each([
  ['/ops/7', 200, '7?'],
  ['/ops/7?a=%20&b', 200, '7?a=%20&b'],
  ['/ops/a%2Fb%3f', 200, 'a/b??'],
  ['/ops/%252e', 200, '%2e?'],
  ['/ops/7/chunks', 200, 'all chunks of 7'],
  ['/ops/a/b1', 200, 'b1 of a'],
  ['/ops/a/b%2fb/c/%761', 200, 'v1 below a/b%2fb/c'],
  ['/ops/a/b/c1', 200, 'c1 below a/b'],
  ['/ops/a//c1', 404, 'PATH'],
  ['/ops/a/b/c', 404, 'PATH'],
  ['/ops/7/logs', 200, 'logs of 7'],
  ['/ops/%zz', 400, 'INVALID_PATH'],
  ['/ops/%ff', 400, 'INVALID_PATH'],
  ['/ops/', 404, 'PATH'],
  ['/ops', 404, 'PATH'],
  ['/ops/7/', 404, 'PATH'],
  ['//ops/7', 404, 'PATH'],
  ['/o%70s/7', 404, 'PATH'],
  ['/ops/../call', 200, 'call of ..'],
  ['/call/', 404, 'PATH'],
  ['/__proto__', 404, 'PATH'],
])('the path %s is matched as it was sent', async (path, status, body) => {
  const { port } = await startCarrier(routes)

  const reply = await say(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)

  expect(reply).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(reply).toContain(body)
})

test('an earlier request and its outcome do not affect the next', async () => {
  const { url } = await startCarrier(routes)
  const answers = {
    'GET /ops/7': '7?',
    'GET /ops/7?a': '7?a',
    'GET /ops/8': '8?',
    'PUT /ops/8': '{"code":"METHOD"}',
    'GET /ops/%ff': expect.stringContaining('INVALID_PATH'),
    'GET /ops': '{"code":"PATH"}',
    'GET /ops/7/chunks': 'all chunks of 7',
    'GET /ops/7/logs': 'logs of 7',
  }
  const asked = Object.keys(answers)
  const inEveryOrder = asked.flatMap((first) => asked.flatMap((next) => [first, next]))

  for (const line of inEveryOrder) {
    const [method = '', path] = line.split(' ')
    const reply = await fetch(`${url}${path}`, { method })
    expect([line, await reply.text()]).toEqual([line, answers[line as keyof typeof answers]])
  }
})

test('a known path refuses a method it has not, names those it has, and answers HEAD and OPTIONS itself', async () => {
  const { url } = await startCarrier(routes)

  const put = await fetch(`${url}/ops/7`, { method: 'PUT' })
  const options = await fetch(`${url}/ops/7`, { method: 'OPTIONS' })
  const get = await fetch(`${url}/ops/7`)
  const head = await fetch(`${url}/ops/7`, { method: 'HEAD' })

  expect([put.status, put.headers.get('allow'), await put.json()]).toEqual([
    405,
    'GET, DELETE, HEAD',
    { code: 'METHOD' },
  ])
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, DELETE, HEAD, OPTIONS'])
  expect([...options.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
    200,
    get.headers.get('content-length'),
    '',
  ])
})

test('an absolute-form request target finds its route', async () => {
  const { port } = await startCarrier(routes)

  const reply = await say(port, 'GET http://elsewhere.example/ops/7?q HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

  expect(reply).toContain('7?q')
})

test('two routes of one shape are refused at the start, with the path in the message', () => {
  const twice = [route('/ops/{id}', {}), route('/ops/{name}', {})]

  expect(() => createRequestListener(twice, { fallback: refuse })).toThrow('/ops/{name}')
})

test('mounted in Express below a path, links carry that path and other paths are left to Express', async () => {
  const app = express()
  const where = route('/where', { GET: (exchange) => text(exchange.origin) })
  app.use('/api', createRequestListener([where], { fallback: refuse }))
  app.get('/api/other', (_, response) => void response.send('from Express'))
  const server = createServer(app).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  expect(await (await fetch(`${url}/api/where`)).text()).toBe(`${url}/api`)
  expect(await (await fetch(`${url}/api/other`)).text()).toBe('from Express')
})

test.each([
  [
    'the public URL where one is set',
    { publicUrl: 'https://api.example.com/v/' },
    'a.example',
    'https://api.example.com/v',
  ],
  ['the Host header', {}, 'a.example:81', 'http://a.example:81'],
  ['the socket if the Host header is not a host', {}, 'a"><script>', 'http://127.0.0.1:'],
])('the origin is %s', async (_, options, host, origin) => {
  const where = route('/where', { GET: (exchange) => text(exchange.origin) })
  const { port } = await startCarrier([where], options)

  const reply = await say(port, `GET /where HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  expect(reply.split('\r\n\r\n')[1]).toMatch(new RegExp(`^${origin.replaceAll('.', '\\.')}`))
})
