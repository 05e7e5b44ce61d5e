/** `GET /openapi.json`. */
import { createToken, operation } from 'callplane'
import { expect, test } from 'vitest'
import { startSite } from './server.ts'

const pathsOf = async (response: Response) => Object.keys(((await response.json()) as { paths: object }).paths)

test('callers see the operations that they may call, and a cache asks whether the document changed', async () => {
  const { token, hash } = await createToken()
  const site = await startSite({
    operations: [
      operation('v1:ping', { run: () => 'pong' }),
      operation('v1:secret', { internal: true, scopes: ['secrets'], run: () => 7 }),
    ],
    auth: { tokens: [{ kind: 'bearer', hash, subject: 'ann', scopes: ['secrets'] }] },
  })
  const credential = { Authorization: `Bearer ${token}` }

  const open = await site.request('/openapi.json')
  const known = await site.request('/openapi.json', { headers: credential })
  const etag = open.headers.get('etag') ?? ''
  const again = await site.request('/openapi.json', { headers: { 'If-None-Match': etag } })

  expect(open.headers.get('cache-control')).toBe('public, max-age=60')
  expect(known.headers.get('cache-control')).toBe('private, no-cache')
  expect(known.headers.get('etag')).not.toBe(etag)
  expect([open.status, known.status, again.status]).toEqual([200, 200, 304])
  const [forAll, forAnn] = [await pathsOf(open), await pathsOf(known)]
  expect(forAll).toContain('/ops/ping/v1')
  expect(forAll).not.toContain('/ops/secret/v1')
  expect(forAnn).toContain('/ops/secret/v1')
})

test('the document names the server by its public address, or by the path of its mount', async () => {
  const operations = [operation('v1:ping', { run: () => 'pong' })]
  const serversOf = async (site: { request(path: string): Promise<Response> }) =>
    ((await (await site.request('/openapi.json')).json()) as { servers: object }).servers

  const own = await startSite({ operations })
  const known = await startSite({ operations, publicUrl: 'https://api.example.com/v1' })

  const mounted = await startSite({ operations, basePath: '/api' })

  expect(await serversOf({ request: (path) => mounted.request(`/api${path}`) })).toEqual([{ url: '/api' }])
  expect(await serversOf(own)).toEqual([{ url: '/' }])
  expect(await serversOf(known)).toEqual([{ url: 'https://api.example.com/v1' }])
})
