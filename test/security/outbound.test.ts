import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mayConnectTo } from '../../src/security/outbound/addresses.ts'
import { createFetcher, type FetcherOptions } from '../../src/security/outbound/fetcher.ts'

const never = new AbortController().signal

async function startServer(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` }
}

/** A fetcher that may go to this server and nowhere else. */
const fetcherFor = (host: string, options: FetcherOptions = {}) =>
  createFetcher({ allowHosts: [`http://${host}`], allowPrivate: true, ...options })

const readAll = async (source: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(source)).toString()

const REFUSED = { kind: 'invalid-input', code: 'MEDIA_REF_REFUSED' }
const UNREACHABLE = { kind: 'upstream', code: 'MEDIA_REF_UNREACHABLE' }

test('type and size are those that HEAD states, and the content is read as it is', async () => {
  const { host, url } = await startServer((request, response) => {
    response.writeHead(200, { 'Content-Type': 'Text/CSV; charset=utf-8', 'Content-Length': 5 })
    response.end(request.headers.cookie ?? 'a,b,c')
  })
  const fetcher = fetcherFor(host)

  expect(await fetcher.probe(`${url}/x`, never)).toEqual({ mimeType: 'text/csv', bytes: 5 })
  expect(await readAll(fetcher.open(`${url}/x`, 5, never))).toBe('a,b,c')
})

test.each([
  ['a part of it', 206, { 'Content-Range': 'bytes 0-0/1234' }, 'x', 1234],
  ['all of it', 200, { 'Content-Length': '7' }, 'content', 7],
  ['that it is empty', 416, { 'Content-Range': 'bytes */0' }, '', 0],
])(
  'where HEAD is not allowed, a GET for one byte is answered with %s and says the size',
  async (_, status, headers, body, bytes) => {
    const { host, url } = await startServer((request, response) => {
      if (request.method === 'HEAD') response.writeHead(403).end()
      else if (request.headers.range !== 'bytes=0-0') response.writeHead(400).end()
      else response.writeHead(status, { 'Content-Type': 'image/png', ...headers }).end(body)
    })

    expect(await fetcherFor(host).probe(url, never)).toEqual({ mimeType: 'image/png', bytes })
  },
)

test.each([
  ['not a URL', 'photo.png'],
  ['a file', 'file:///etc/passwd'],
  ['data', 'data:text/plain,hello'],
  ['another scheme', 'ftp://cdn.example.com/x'],
  ['http where https is asked for', 'http://cdn.example.com/x'],
  ['another port', 'https://cdn.example.com:8443/x'],
  ['another host', 'https://example.org/x'],
  ['a host that only ends alike', 'https://evilexample.net/x'],
  ['the parent of a wildcard', 'https://example.net/x'],
  ['credentials', 'https://user:secret@cdn.example.com/x'],
])('a reference is refused before anything is sent: %s', async (_, uri) => {
  const resolve = vi.fn()
  const fetcher = createFetcher({ allowHosts: ['cdn.example.com', '*.example.net'], resolve })

  await expect(fetcher.probe(uri, never)).rejects.toMatchObject(REFUSED)
  await expect(readAll(fetcher.open(uri, 1, never))).rejects.toMatchObject(REFUSED)
  expect(resolve).not.toHaveBeenCalled()
})

test('with no host allowed every reference is refused, and the message names the option', async () => {
  await expect(createFetcher().probe('https://example.com/', never)).rejects.toThrow('allowHosts')
})

test.each([
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '0',
  '①②⑦.⓪.⓪.①',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '192.0.2.1',
  '198.19.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:808:808]',
  '[::7f00:1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::a00:1]',
  '[2002:7f00:1::]',
  '[2001:0:1::1]',
  '[2001:db8::1]',
  '[fd00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[ff02::1]',
])('the address %s is not fetched from, however it is written and though every host is allowed', async (host) => {
  const fetcher = createFetcher({ allowHosts: ['*', 'http://*'] })

  await expect(fetcher.probe(`http://${host}/`, never)).rejects.toMatchObject(REFUSED)
})

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111'])('%s is a public address', (address) => {
  expect(mayConnectTo(address, false)).toBe(true)
})

const NEVER = ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fe80::1%eth0', '0.0.0.0']

test.each([...NEVER, '224.0.0.1'])('%s stays out of reach where private addresses are allowed', (address) => {
  expect(mayConnectTo(address, true)).toBe(false)
})

test('a name that resolves to a private address is refused, even if it also has a public one', async () => {
  const resolve = async () => [
    { address: '93.184.215.14', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ]
  const fetcher = createFetcher({ allowHosts: ['rebind.example'], resolve })

  await expect(fetcher.probe('https://rebind.example/', never)).rejects.toMatchObject(REFUSED)
})

test('the connection goes to the address that was checked, and each connection is checked again', async () => {
  const { port } = await startServer((request, response) => response.end(request.headers.host))
  const answers = ['127.0.0.1', '169.254.169.254']
  const resolve = vi.fn(async () => [{ address: answers.shift() ?? '', family: 4 }])
  const fetcher = fetcherFor(`files.example:${port}`, { resolve })
  const uri = `http://files.example:${port}/`

  expect(await readAll(fetcher.open(uri, 100, never))).toBe(`files.example:${port}`)
  await expect(readAll(fetcher.open(uri, 100, never))).rejects.toMatchObject(REFUSED)
  expect(resolve).toHaveBeenCalledTimes(2)
})

test('redirects are followed to allowed places', async () => {
  const { host, url } = await startServer((request, response) => {
    if (request.url === '/b') response.end('moved here')
    else response.writeHead(302, { Location: '/b' }).end()
  })

  expect(await readAll(fetcherFor(host).open(`${url}/a`, 100, never))).toBe('moved here')
})

test.each([
  ['to the metadata service', 'http://169.254.169.254/latest/'],
  ['to a host that is not allowed', 'http://127.0.0.2/'],
  ['to a file', 'file:///etc/passwd'],
  ['to itself, again and again', '/'],
  ['to nothing', 'http://'],
])('a redirect %s is refused', async (_, location) => {
  const { host, url } = await startServer((_request, response) => response.writeHead(302, { Location: location }).end())
  const fetcher = createFetcher({ allowHosts: [`http://${host}`, 'http://169.254.169.254'], allowPrivate: true })

  await expect(fetcher.probe(url, never)).rejects.toMatchObject(REFUSED)
})

test.each([
  ['announced', { 'Content-Length': '11' }],
  ['not announced', {}],
])('content above the limit is cut off (%s)', async (_, headers) => {
  const { host, url } = await startServer((_request, response) => {
    response.writeHead(200, headers).end('x'.repeat(11))
  })

  await expect(readAll(fetcherFor(host).open(url, 10, never))).rejects.toMatchObject({ code: 'MEDIA_TOO_LARGE' })
})

test('silence ends a fetch, before the answer, at its start and in the middle of it', async () => {
  const { host, url } = await startServer((request, response) => {
    if (request.url === '/start') response.writeHead(200).flushHeaders()
    if (request.url === '/middle') response.writeHead(200).write('some')
  })
  const fetcher = fetcherFor(host, { timeoutMs: 50 })

  await expect(fetcher.probe(`${url}/never`, never)).rejects.toMatchObject(UNREACHABLE)
  await expect(readAll(fetcher.open(`${url}/start`, 100, never))).rejects.toMatchObject(UNREACHABLE)
  await expect(readAll(fetcher.open(`${url}/middle`, 100, never))).rejects.toMatchObject(UNREACHABLE)
})

test('a drip that never falls silent ends with the time allowed in all', async () => {
  const { host, url } = await startServer((_request, response) => {
    const drip = setInterval(() => response.write('x'), 5)
    response.on('close', () => clearInterval(drip))
  })
  const fetcher = fetcherFor(host, { timeoutMs: 10_000, totalTimeoutMs: 60 })

  await expect(readAll(fetcher.open(url, 1e6, never))).rejects.toMatchObject(UNREACHABLE)
})

test('an error of the other side names only the host of the reference', async () => {
  const { host, url } = await startServer((_request, response) => response.writeHead(404).end())

  const failure = fetcherFor(host).probe(`${url}/path?signature=secret`, never)

  await expect(failure).rejects.toMatchObject({ ...UNREACHABLE, retryable: false })
  await expect(failure).rejects.toThrow(new RegExp(`^(?=.*${host})(?!.*secret)`))
})

test('content that breaks off, a closed port and compressed content are failures of the other side', async () => {
  const { server, host, url } = await startServer((request, response) => {
    if (request.url === '/gzip') response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x')
    else {
      response.writeHead(200, { 'Content-Length': '10' }).write('some')
      setImmediate(() => response.destroy())
    }
  })
  const fetcher = fetcherFor(host)

  await expect(readAll(fetcher.open(`${url}/gzip`, 100, never))).rejects.toMatchObject(UNREACHABLE)
  await expect(readAll(fetcher.open(url, 100, never))).rejects.toMatchObject(UNREACHABLE)
  server.close()
  server.closeAllConnections()
  await expect(fetcher.probe(url, never)).rejects.toMatchObject(UNREACHABLE)
})

test('the caller can call it off, and a reader that stops closes the connection', async () => {
  const closed = vi.fn()
  const { host, url } = await startServer((request, response) => {
    request.socket.on('close', closed)
    response.writeHead(200).write('some')
  })
  const fetcher = fetcherFor(host)
  const controller = new AbortController()

  for await (const _ of fetcher.open(url, 100, never)) break
  const reading = (async () => {
    for await (const _ of fetcher.open(url, 100, controller.signal)) controller.abort()
  })()

  await expect(reading).rejects.toMatchObject({ kind: 'canceled' })
  await vi.waitUntil(() => closed.mock.calls.length === 2)
})

test.each(['', '*example.com', 'https://', 'ftp://a.example', 'a.example/path', 'user@a.example', 'a.*.example'])(
  'an allowHosts entry that is not a host is refused at the start: "%s"',
  (entry) => {
    expect(() => createFetcher({ allowHosts: [entry] })).toThrow('in allowHosts is not a valid host')
  },
)

test.each([
  ['CDN.Example.com', 'https://cdn.example.com./x'],
  ['*.example.com', 'https://a.b.example.com/x'],
  ['*.example.com:8443', 'https://a.example.com:8443/x'],
  ['http://bücher.example', 'http://xn--bcher-kva.example/x'],
  ['*', 'https://anything.example/x'],
])('the entry %s allows %s', async (entry, uri) => {
  const resolve = vi.fn(async () => [])

  await expect(createFetcher({ allowHosts: [entry], resolve }).probe(uri, never)).rejects.toMatchObject(UNREACHABLE)
  expect(resolve).toHaveBeenCalledOnce()
})

test.each([
  ['three, unless told otherwise', {}, 3],
  ['as many as configured', { maxRedirects: 1 }, 1],
  ['none', { maxRedirects: 0 }, 0],
])('redirects are followed this often and no more: %s', async (_, options, most) => {
  const asked: string[] = []
  const { host, url } = await startServer((request, response) => {
    asked.push(request.url ?? '')
    const left = Number(request.url?.slice(1))
    if (left > 0) response.writeHead(302, { Location: `/${left - 1}` }).end()
    else response.writeHead(200, { 'Content-Type': 'text/plain' }).end('there')
  })
  const fetcher = fetcherFor(host, options)

  expect(await readAll(fetcher.open(`${url}/${most}`, 10, never))).toBe('there')
  asked.length = 0
  await expect(readAll(fetcher.open(`${url}/${most + 1}`, 10, never))).rejects.toMatchObject({
    ...REFUSED,
    message: expect.stringContaining('name its final address'),
  })
  expect(asked).toHaveLength(most + 1)
})
