import { expect, test } from 'vitest'
import { createSigner, EMPTY_HASH } from '../../src/objects/s3/http/sigv4.ts'
import { describeWith, s3Server } from './engines.ts'
import { REGION, type SeaweedFs, startSeaweedFs } from './seaweedfs.ts'

describeWith(s3Server, 'SeaweedFS', () => {
  test('keeps an object over a restart, refuses a second one under a condition, and knows its user', async () => {
    await using server = await startSeaweedFs()
    const path = `/${await server.createBucket()}/greeting`

    const put = await send(server, 'PUT', path, { 'if-none-match': '*' })
    const again = await send(server, 'PUT', path, { 'if-none-match': '*' })
    const stranger = await fetch(server.endpoint + path)
    await server.kill()
    await server.restart()
    const got = await send(server, 'GET', path)

    expect([put.status, again.status, stranger.status, got.status]).toEqual([200, 412, 403, 200])
  }, 60_000)
})

function send({ endpoint, credentials }: SeaweedFs, method: string, path: string, headers = {}): Promise<Response> {
  const request = { method, host: new URL(endpoint).host, path, query: {}, headers }
  const { host: _, ...signed } = createSigner(REGION).sign(request, EMPTY_HASH, credentials, Date.now())
  return fetch(endpoint + path, { method, headers: signed })
}
