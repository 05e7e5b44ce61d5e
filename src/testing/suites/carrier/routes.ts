/** Part of the carrier suite: routing by path and method, and the rules about the origin of requests. */
import type { Exchange } from '../../../core/ports/exchange.ts'
import type { TestRunner } from '../runner.ts'
import type { CarrierStory } from './carrier.ts'
import { codeOf, echo, route, text } from './content.ts'

const routes = [
  route('/call', { POST: echo }),
  route('/ops/{id}', { GET: (exchange, { id }) => text(`${id}?${exchange.query}`), DELETE: () => text('', 204) }),
  route('/ops/{id}/{part}', { GET: (_, { id, part }) => text(`${part} of ${id}`) }),
  route('/ops/{id}/chunks', { GET: (_, { id }) => text(`all chunks of ${id}`) }),
]

/** There are no dot segments: URL parsing resolves them before a carrier sees the path. */
const PATHS: readonly [path: string, status: number, body: string][] = [
  ['/ops/7', 200, '7?'],
  ['/ops/7?a=%20&b', 200, '7?a=%20&b'],
  ['/ops/a%2Fb%3f', 200, 'a/b??'],
  ['/ops/%252e', 200, '%2e?'],
  ['/ops/%F0%9F%A6%8A', 200, '🦊?'],
  ['/ops/7/chunks', 200, 'all chunks of 7'],
  ['/ops/7/logs', 200, 'logs of 7'],
  ['/ops/%zz', 400, 'INVALID_PATH'],
  ['/ops/%ff', 400, 'INVALID_PATH'],
  ['/ops/', 404, 'PATH'],
  ['/ops', 404, 'PATH'],
  ['/ops/7/', 404, 'PATH'],
  ['/ops//7', 404, 'PATH'],
  ['/o%70s/7', 404, 'PATH'],
  ['/call/', 404, 'PATH'],
  ['/__proto__', 404, 'PATH'],
]

export function describeCarrierRoutes({ expect }: TestRunner, story: CarrierStory): void {
  for (const [path, status, body] of PATHS) {
    story(`the path ${path} is matched as it was sent`, routes, async ({ send }) => {
      const reply = await send(path)
      const got = await reply.text()
      expect([reply.status, got.includes(body)]).toEqual([status, true])
    })
  }

  story('a known path refuses an unknown method, and responds to HEAD and OPTIONS itself', routes, async ({ send }) => {
    const put = await send('/ops/7', { method: 'PUT' })
    expect([put.status, put.headers.get('allow'), await codeOf(put)]).toEqual([405, 'GET, DELETE, HEAD', 'METHOD'])

    const options = await send('/ops/7', { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, DELETE, HEAD, OPTIONS'])
    expect([...options.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])

    const get = await send('/ops/7')
    const head = await send('/ops/7', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      get.headers.get('content-length'),
      '',
    ])
  })

  const where = [route('/where', { GET: (exchange) => text(`${exchange.origin} ${exchange.path}`) })]
  story('a handler gets the origin of the request', where, async ({ url, send }) => {
    expect(await (await send('/where?x')).text()).toBe(`${url} /where`)
  })
  story(
    'a handler gets the public URL if it is set',
    where,
    async ({ send }) => {
      expect(await (await send('/where')).text()).toBe('https://api.example/v1 /where')
    },
    { publicUrl: 'https://api.example/v1/' },
  )

  const all = (exchange: Exchange) => [...exchange.headers()].map(([name, value]) => `${name.toLowerCase()}=${value}`)
  const heads = [
    route('/heads', {
      GET: (exchange) => text([exchange.header('x-one'), exchange.header('x-none'), ...all(exchange)].join('|')),
    }),
  ]
  story('headers are found by their lower-case names, one by one or all', heads, async ({ send }) => {
    const got = (await (await send('/heads', { headers: { 'X-One': 'eins' } })).text()).split('|')
    expect([got[0], got[1], got.includes('x-one=eins')]).toEqual(['eins', '', true])
  })

  const post = (origin?: string): RequestInit => ({
    method: 'POST',
    body: 'hi',
    headers: origin === undefined ? {} : { origin },
  })
  story(
    'a request from a page of another site reaches no handler, unless its origin is allowed',
    routes,
    async ({ url, send }) => {
      const statuses: number[] = []
      for (const origin of [undefined, new URL(url).origin, 'https://app.example', 'https://evil.example', 'null']) {
        statuses.push((await send('/call', post(origin))).status)
      }
      expect(statuses).toEqual([200, 200, 200, 403, 403])
      const form = { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' }, body: 'hi' }
      expect(await codeOf(await send('/call', form))).toBe('CROSS_SITE')
    },
    { crossSite: 'refuse', cors: { origins: ['https://app.example'] } },
  )
  story(
    'an allowed origin passes the preflight and may read the response; another may not',
    routes,
    async ({ send }) => {
      const asking = (origin: string) => ({
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-headers': 'authorization' },
      })
      const preflight = await send('/call', asking('https://app.example'))
      expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example')
      expect(preflight.headers.get('access-control-allow-methods')).toBe('POST')
      expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
      const answer = await send('/call', post('https://app.example'))
      expect([answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')]).toEqual([
        'https://app.example',
        'Origin',
      ])
      const stranger = await send('/call', asking('https://evil.example'))
      expect([...stranger.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    },
    { cors: { origins: ['https://app.example'] } },
  )
  story(
    'a request for an unknown host is refused',
    routes,
    async ({ send }) => {
      const reply = await send('/ops/7')
      expect([reply.status, await codeOf(reply)]).toEqual([403, 'HOST_NOT_ALLOWED'])
    },
    { hosts: ['api.example'] },
  )
}
