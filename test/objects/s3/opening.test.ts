/** What openS3Objects says of credentials and of servers, without an S3 server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openS3Objects, type S3Options } from '../../../src/objects/s3/index.ts'
import { systemClock } from '../../../src/server/build/environment.ts'
import { checkOptions } from '../../../src/server/options/check-options.ts'

const CREDENTIALS = { accessKeyId: 'key', secretAccessKey: 'secret' }

test('without credentials the start fails, and the message says where they can be', async () => {
  const env = { AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials' }

  await expect(open({ url: 's3://bucket?region=a', env })).rejects.toMatchObject({
    code: 'OBJECTS_UNUSABLE',
    message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
  })
})

test('a provider that fails is the reason, also while the server runs', async () => {
  const endpoint = await startAnswering(200, '<ListBucketResult/>')
  let fails = false
  const warnings: object[] = []
  const objects = await open({
    url: `s3://bucket?endpoint=${endpoint}`,
    log: { warn: (fields) => void warnings.push(fields) },
    credentials: async () => {
      if (fails) throw new Error('the role is gone')
      return { ...CREDENTIALS, expiration: new Date() }
    },
  })
  fails = true

  await expect(objects.info('call/a')).rejects.toMatchObject({
    kind: 'unavailable',
    code: 'STORAGE_REFUSED',
    ofStorage: true,
  })
  await expect(objects.info('call/a')).rejects.not.toThrow('the role')
  expect(JSON.stringify(warnings.map((each) => Object.values(each).map(String)))).toContain('the role is gone')
})

test('a server that ignores conditions of writes is accepted with a warning', async () => {
  const endpoint = await startAnswering(200, '<ListBucketResult/>')
  const warnings: string[] = []

  await open({
    url: `s3://bucket?endpoint=${endpoint}`,
    log: { warn: (_fields, message) => void warnings.push(message) },
  })

  expect(warnings).toEqual([expect.stringContaining('ignores If-None-Match')])
})

test('an address where no S3 server is fails the start', async () => {
  const endpoint = await startAnswering(200, '<html><body>Welcome<br></body></html>')

  await expect(open({ url: `s3://bucket?endpoint=${endpoint}` })).rejects.toMatchObject({ code: 'OBJECTS_UNUSABLE' })
})

test('an address where nothing listens is a warning', async () => {
  const warnings: string[] = []
  const random = () => 0

  await open({
    url: 's3://bucket?endpoint=http://127.0.0.1:1',
    random,
    log: { warn: (_fields, message) => void warnings.push(message) },
  })

  expect(warnings).toContain('the object storage does not respond; calls with objects fail until it does')
})

async function open(options: Partial<S3Options> & { url: string }) {
  const objects = await openS3Objects({
    ...(options.env === undefined && { credentials: CREDENTIALS }),
    clock: systemClock,
    env: {},
    log: { warn: () => {} },
    conceal: () => () => {},
    ...options,
  })
  onTestFinished(() => objects.close())
  return objects
}

/** Answers all requests in the same way. */
async function startAnswering(status: number, text: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status).end(text)
  }).listen(0, '127.0.0.1')
  await vi.waitUntil(() => server.listening)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.for([
  ['/srv/objects', 's3://bucket/prefix'],
  ['file:///srv/objects', 's3://bucket/prefix'],
  [{ url: 's3://bucket', credential: {} }, 'no option "credential"'],
] as const)('the option objects refuses %j', ([objects, advice]) => {
  expect(() => checkOptions({ objects: objects as string })).toThrow(advice)
})
