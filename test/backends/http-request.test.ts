/** The `request` template of the http backend: where the arguments of a call go. */
import { expect, test } from 'vitest'
import { createHttpBackend, parseHttpSettings } from '../../src/backends/http/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { backendContext, KEY, tokens } from './context.ts'
import { openTool, partsWith, type Respond } from './tool-server.ts'

const json =
  (body: string, status = 200): Respond =>
  (_asked, response) =>
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(body)

async function open(request: object, respond: Respond = json('{}'), settings: object = {}) {
  const tool = await openTool(respond)
  const spec = { kind: 'http', endpoint: `${tool.url}/v1/?lang=en`, allowPrivate: true, request, ...settings }
  const backend = createHttpBackend(spec, partsWith(createManualClock()))
  return {
    tool,
    run: async (args: unknown, options = {}) => backend.execute(args, backendContext(options)),
  }
}

test('arguments go into the path, the query, headers and the body', async () => {
  const { tool, run } = await open({
    method: 'PUT',
    path: '/pets/{petId}/photos/{number}',
    query: { 'page[size]': 'pageSize' },
    headers: { 'X-Trace': 'trace' },
    body: 'photo',
  })
  const { credential } = tokens('secret-token')

  await run({ petId: 'a/b ü', number: 7, pageSize: 3, trace: 't-1', photo: { name: 'Rex' } }, { credential })

  expect(tool.asked).toMatchObject([
    {
      method: 'PUT',
      path: '/v1/pets/a%2Fb%20%C3%BC/photos/7?lang=en&page%5Bsize%5D=3',
      body: '{"name":"Rex"}',
      headers: {
        'content-type': 'application/json',
        'x-trace': 't-1',
        'x-request-id': KEY,
        authorization: 'Bearer secret-token',
      },
    },
  ])
})

test('an argument without a place goes into the query, or with "*" into the body', async () => {
  const get = await open({ method: 'GET', path: '/pets' })
  const patch = await open({ method: 'PATCH', path: '/pets/{id}', body: '*' })

  await get.run({ status: ['sold', 'new'], limit: 5, cursor: null })
  await patch.run({ id: 1, name: 'Rex', tag: null })

  expect(get.tool.asked).toMatchObject([
    { method: 'GET', path: '/v1/pets?lang=en&status=sold&status=new&limit=5', body: '' },
  ])
  expect(get.tool.asked[0]?.headers['content-type']).toBeUndefined()
  expect(patch.tool.asked).toMatchObject([
    { method: 'PATCH', path: '/v1/pets/1?lang=en', body: '{"name":"Rex","tag":null}' },
  ])
})

const list = ['blue', 'a,b', 'c d']
const object = { R: 100, G: 'a&b' }

// OpenAPI 3.1, "Style Examples", with characters that need an encoding.
test.each([
  ['{x}', list, 'blue,a%2Cb,c%20d'],
  ['{x}', object, 'R,100,G,a%26b'],
  ['{x*}', object, 'R=100,G=a%26b'],
  ['{.x}', list, '.blue,a%2Cb,c%20d'],
  ['{.x*}', list, '.blue.a%2Cb.c%20d'],
  ['{.x*}', object, '.R=100.G=a%26b'],
  ['{;x}', 'blue', ';x=blue'],
  ['{;x}', list, ';x=blue,a%2Cb,c%20d'],
  ['{;x*}', list, ';x=blue;x=a%2Cb;x=c%20d'],
  ['{;x*}', object, ';R=100;G=a%26b'],
  ['{x}', true, 'true'],
  ['{x}', "!'()*", '%21%27%28%29%2A'],
  ['{x}', '\ud800', '%EF%BF%BD'],
])('the path %s with %j', async (placeholder, x, expected) => {
  const { tool, run } = await open({ method: 'GET', path: `/at/${placeholder}` })

  await run({ x })

  expect(tool.asked[0]?.path).toBe(`/v1/at/${expected}?lang=en`)
})

test.each([
  [{}, list, 'x=blue&x=a%2Cb&x=c%20d'],
  [{ explode: false }, list, 'x=blue,a%2Cb,c%20d'],
  [{}, object, 'R=100&G=a%26b'],
  [{ explode: false }, object, 'x=R,100,G,a%26b'],
  [{ style: 'spaceDelimited' }, list, 'x=blue%20a%2Cb%20c%20d'],
  [{ style: 'pipeDelimited' }, list, 'x=blue%7Ca%2Cb%7Cc%20d'],
  [{ style: 'deepObject' }, { a: { b: 1 }, c: [1, 2] }, 'x%5Ba%5D%5Bb%5D=1&x%5Bc%5D=1&x%5Bc%5D=2'],
  [{ style: 'json' }, { a: [1] }, 'x=%7B%22a%22%3A%5B1%5D%7D'],
  [{}, [{ a: 1 }], 'x=%7B%22a%22%3A1%7D'],
  [{}, '', 'x='],
])('the query style %j with %j', async (rule, x, expected) => {
  const { tool, run } = await open({ method: 'GET', query: { x: { arg: 'x', ...rule } } })

  await run({ x })

  expect(tool.asked[0]?.path).toBe(`/v1/?lang=en&${expected}`)
})

test('an empty list and a null are left out', async () => {
  const { tool, run } = await open({ method: 'GET', query: { x: { arg: 'x', explode: false }, y: 'y' } })

  await run({ x: [], y: null })

  expect(tool.asked[0]?.path).toBe('/v1/?lang=en')
})

test.each([
  ['application/x-www-form-urlencoded', { a: 'x y', b: [1, 2], c: null }, 'a=x%20y&b=1&b=2'],
  ['text/plain', 'größe', 'größe'],
  ['application/merge-patch+json', { a: null }, '{"a":null}'],
])('a body of type %s', async (contentType, body, expected) => {
  const { tool, run } = await open({ body: 'body', contentType })

  await run({ body })

  expect(tool.asked).toMatchObject([{ method: 'POST', body: expected, headers: { 'content-type': contentType } }])
})

test.each([
  ['..', '/pets/{id}'],
  ['.', '/pets/{id}'],
  ['.', '/pets/.{id}'],
  ['.', '/pets/%2E{id}'],
  ['', '/pets/{id}'],
  [null, '/pets/{id}'],
  [[], '/pets/{;id}'],
])('the argument %j cannot lead out of %s', async (id, path) => {
  const request = { method: 'DELETE', path }
  const { tool, run } = await open(request)

  await expect(run({ id })).rejects.toMatchObject({ kind: 'invalid-input', retryable: false })
  expect(tool.asked).toEqual([])
})

test('an argument cannot add a header', async () => {
  const { tool, run } = await open({ headers: { 'X-Tag': 'tag' } })

  await expect(run({ tag: 'a\r\nX-Admin: 1' })).rejects.toMatchObject({ kind: 'invalid-input' })
  await expect(run('text')).rejects.toMatchObject({ kind: 'invalid-input' })
  expect(tool.asked).toEqual([])
})

test.each([
  ['a list', json('[1,{"a":2}]'), [1, { a: 2 }]],
  ['what looks like a Tool Contract response', json('{"status":"ok","output":{}}'), { status: 'ok', output: {} }],
  ['nothing', ((_asked, response) => response.writeHead(204).end()) satisfies Respond, null],
  ['text', ((_asked, response) => response.end('[1]')) satisfies Respond, '[1]'],
])('a response can be %s', async (_, respond, result) => {
  const { run } = await open({ method: 'GET' }, respond)

  expect(await run({})).toEqual(result)
})

test('the reason of a refusal reaches the caller, a broken response does not pass', async () => {
  const refused = await open({ method: 'GET' }, json('{"message":"no such pet"}', 404))
  const failed = await open({ method: 'GET' }, json('{"trace":"internal"}', 500))
  const broken = await open({ method: 'GET' }, json('{"a":'))

  await expect(refused.run({})).rejects.toMatchObject({
    kind: 'upstream',
    retryable: false,
    details: { http_status: 404, response: '{"message":"no such pet"}' },
  })
  await expect(failed.run({})).rejects.toMatchObject({ retryable: true, details: { http_status: 500 } })
  await expect(failed.run({})).rejects.not.toHaveProperty('details.response')
  await expect(broken.run({})).rejects.toMatchObject({ code: 'BAD_ANSWER', retryable: false })
})

test.each([
  ['request', 'GET'],
  ['request.methd', { methd: 'GET' }],
  ['request.method', { method: 'HEAD' }],
  ['request.method', { method: 'get' }],
  ['request.path', { path: 'pets' }],
  ['request.path', { path: '/pets?x=1' }],
  ['request.path', { path: '/pets/{id' }],
  ['request.path', { path: '/pets/{}' }],
  ['request.path', { path: '/../admin' }],
  ['request.path', { path: '/%2e%2e/admin' }],
  ['request.query', { query: ['limit'] }],
  ['request.query.limit', { query: { limit: 5 } }],
  ['request.query.limit.style', { query: { limit: { arg: 'limit', style: 'matrix' } } }],
  ['request.query.limit.explode', { query: { limit: { arg: 'limit', explode: 'no' } } }],
  ['request.query.limit.default', { query: { limit: { arg: 'limit', default: 1 } } }],
  ['request.headers.Authorization', { headers: { Authorization: 'token' } }],
  ['request.headers.a b', { headers: { 'a b': 'token' } }],
  ['request.body', { body: '' }],
  ['request.body', { method: 'GET', body: '*' }],
  ['request.contentType', { contentType: 'multipart/form-data' }],
])('a wrong backend.%s is refused by name: %j', (name, request) => {
  const parse = () => parseHttpSettings({ kind: 'http', endpoint: 'https://api.example/v1', request } as never)

  expect(parse).toThrow(
    expect.objectContaining({ kind: 'policy-invalid', message: expect.stringContaining(`backend.${name} `) }),
  )
})
