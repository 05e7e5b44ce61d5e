/** The examples that AWS publishes for S3: "Authenticating Requests (AWS Signature Version 4)", with its example key. */
import { describe, expect, test } from 'vitest'
import { createSigner, EMPTY_HASH, encodePath, encodeQuery } from '../../../src/objects/s3/http/sigv4.ts'

const KEY = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' }
const NOW = Date.UTC(2013, 4, 24)
const HOST = 'examplebucket.s3.amazonaws.com'

describe('the published examples', () => {
  test.for([
    {
      title: 'GET Object with a range',
      request: { method: 'GET', path: '/test.txt', query: {}, headers: { range: 'bytes=0-9' } },
      bodyHash: EMPTY_HASH,
      signed: 'host;range;x-amz-content-sha256;x-amz-date',
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    },
    {
      title: 'PUT Object with a key that must be encoded',
      request: {
        method: 'PUT',
        path: `/${encodePath('test$file.text')}`,
        query: {},
        headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      },
      bodyHash: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
      signed: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    },
    {
      title: 'GET Bucket Lifecycle: a parameter without a value',
      request: { method: 'GET', path: '/', query: { lifecycle: '' }, headers: {} },
      bodyHash: EMPTY_HASH,
      signed: 'host;x-amz-content-sha256;x-amz-date',
      signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    },
    {
      title: 'List Objects: parameters in order',
      request: { method: 'GET', path: '/', query: { prefix: 'J', 'max-keys': '2' }, headers: {} },
      bodyHash: EMPTY_HASH,
      signed: 'host;x-amz-content-sha256;x-amz-date',
      signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    },
  ])('$title', ({ request, bodyHash, signed, signature }) => {
    const headers = createSigner('us-east-1').sign({ ...request, host: HOST }, bodyHash, KEY, NOW)

    expect(headers.authorization).toBe(
      `AWS4-HMAC-SHA256 Credential=${KEY.accessKeyId}/20130524/us-east-1/s3/aws4_request,SignedHeaders=${signed},Signature=${signature}`,
    )
    expect(headers).toMatchObject({ host: HOST, 'x-amz-date': '20130524T000000Z', 'x-amz-content-sha256': bodyHash })
  })

  test('a presigned address', () => {
    const request = { method: 'GET', host: HOST, path: '/test.txt', query: {} }

    const query = createSigner('us-east-1').presign(request, 86_400, KEY, NOW)

    expect(encodeQuery(query)).toBe(
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404&X-Amz-SignedHeaders=host',
    )
  })
})

test('another day, another secret and a session token give other signatures', () => {
  const signer = createSigner('us-east-1')
  const request = { method: 'GET', host: HOST, path: '/test.txt', query: {}, headers: {} }
  const sign = (key: Parameters<typeof signer.sign>[2], now = NOW) => signer.sign(request, EMPTY_HASH, key, now)

  const all = [
    sign(KEY),
    sign(KEY, NOW + 86_400_000),
    sign({ ...KEY, secretAccessKey: 'another' }),
    sign({ ...KEY, sessionToken: 'a session' }),
  ]

  expect(new Set(all.map(({ authorization }) => authorization)).size).toBe(4)
  expect(sign(KEY)).toEqual(all[0])
  expect(all[3]).toMatchObject({ 'x-amz-security-token': 'a session' })
})

test('characters that URLs treat in their own ways are encoded as S3 does', () => {
  expect(encodePath("a b/c+d/é!'()*~")).toBe('a%20b/c%2Bd/%C3%A9%21%27%28%29%2A~')
  expect(encodeQuery({ b: '/', a: ' ' })).toBe('a=%20&b=%2F')
})
