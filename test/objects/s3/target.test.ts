import { expect, test } from 'vitest'
import { parseTarget } from '../../../src/objects/s3/target.ts'

test('AWS is the default, with the bucket in the host name', () => {
  expect(parseTarget('s3://my-bucket/a/b?region=eu-central-1', {})).toMatchObject({
    bucket: 'my-bucket',
    prefix: 'a/b',
    region: 'eu-central-1',
    endpoint: {
      secure: true,
      hostname: 'my-bucket.s3.eu-central-1.amazonaws.com',
      port: 443,
      host: 'my-bucket.s3.eu-central-1.amazonaws.com',
      basePath: '',
    },
  })
  expect(parseTarget('s3://my-bucket', { AWS_REGION: 'cn-north-1' }).endpoint.host).toBe(
    'my-bucket.s3.cn-north-1.amazonaws.com.cn',
  )
})

test('another endpoint has the bucket in the path, unless path-style says otherwise', () => {
  const at = (rest: string) => parseTarget(`s3://files/?endpoint=http://127.0.0.1:8333${rest}`, {}).endpoint

  expect(at('')).toMatchObject({ secure: false, port: 8333, host: '127.0.0.1:8333', basePath: '/files' })
  expect(at('/s3/')).toMatchObject({ basePath: '/s3/files' })
  expect(at('&path-style=false')).toMatchObject({ host: 'files.127.0.0.1:8333', basePath: '' })
  expect(parseTarget('s3://files?endpoint=http://[::1]:9000', {}).endpoint).toMatchObject({
    hostname: '::1',
    host: '[::1]:9000',
  })
})

test('callers can be sent to another address than the one that the server uses', () => {
  const target = parseTarget('s3://files?endpoint=http://minio:9000&public-endpoint=https://files.example.com', {})

  expect(target.endpoint.host).toBe('minio:9000')
  expect(target.publicEndpoint).toMatchObject({ secure: true, host: 'files.example.com', basePath: '/files' })
})

test.for([
  ['https://bucket.example', 's3://bucket/prefix'],
  ['s3://', 'bucket name'],
  ['s3://-bad-?region=a', 'bucket name'],
  ['s3://key:secret@bucket?region=a', 'AWS_ACCESS_KEY_ID'],
  ['s3://bucket', 'region of the bucket'],
  ['s3://bucket?region=a/b', 'region'],
  ['s3://bucket?regoin=a', 'no parameter "regoin"'],
  ['s3://bucket?region=a&region=b', 'twice'],
  ['s3://bucket/a/../b?region=a&endpoint=ftp://x', 'endpoint'],
  ['s3://bucket?region=a&endpoint=https://user:password@host', 'endpoint'],
  ['s3://bucket/a%2F..%2Fb?region=a', 'prefix'],
  ['s3://bucket/a%20b?region=a', 'prefix'],
  [`s3://bucket/${'a'.repeat(301)}?region=a`, 'prefix'],
  ['s3://bucket?region=a&credentials=toString', 'fromTokenFile'],
  ['s3://bucket?region=a&path-style=yes', 'path-style'],
])('%s is refused with advice, and without what it may contain', ([address = '', advice = '']) => {
  expect(() => parseTarget(address, {})).toThrow(advice)
  expect(() => parseTarget(address, {})).not.toThrow(/secret|password/)
})
