/** A server whose objects are in S3: attachments, results, chunks, direct downloads, expiry, and a bucket that fails. */
import { createToken, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { REGION } from '../../../engines/seaweedfs.ts'
import { createStepClock, startSite, temporaryFolder } from '../../../scenarios/server.ts'
import { useSeaweedFs } from './bucket.ts'
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts'

const [ada, bob] = [createToken(), createToken()]
const token = (hash: string, subject: string) => ({ hash, kind: 'bearer' as const, subject, scopes: [] })
const auth = { tokens: [token(ada.hash, 'ada'), token(bob.hash, 'bob')] }
const as = ({ token }: { token: string }) => ({ headers: { Authorization: `Bearer ${token}` } })

const shout = operation('v1:texts.shout', {
  ttlSeconds: 600,
  media: [{ name: 'text', acceptedTypes: ['text/plain'], maxBytes: 1_000_000, required: true }],
  run: async (_args, ctx) => {
    const text = await ctx.media.text?.text()
    return ctx.object(text?.toUpperCase() ?? '', { mimeType: 'text/plain', filename: 'loud.txt', direct: true })
  },
})
const count = operation('v1:texts.count', {
  model: 'async',
  chunked: { mimeType: 'text/plain' },
  async *run() {
    for (let number = 0; number < 50; number++) yield `${number}\n`
  },
})
const sum = operation('v1:sums.add', { run: () => 3 })
const operations = [shout, count, sum]

describeWith(s3Server, 'a server with objects in S3', () => {
  const s3 = useSeaweedFs()

  async function behindProxy() {
    const proxy = await startFaultyProxy(s3.server.port)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    return proxy
  }

  async function settings(proxy: FaultyProxy) {
    const bucket = await s3.server.createBucket()
    const url = `s3://${bucket}/prod?region=${REGION}&endpoint=${encodeURIComponent(proxy.endpoint)}`
    return { url, credentials: s3.server.credentials }
  }

  function attach(text: string): RequestInit {
    const form = new FormData()
    const media = [{ name: 'text', mimeType: 'text/plain', part: 'p' }]
    form.set('envelope', JSON.stringify({ op: 'v1:texts.shout', args: {}, media, ctx: { requestId: 'shout-1' } }))
    form.set('p', new Blob([text], { type: 'text/plain' }), 'quiet.txt')
    return { method: 'POST', body: form, ...as(ada) }
  }

  test('an attachment goes in, the result comes from S3 itself, and strangers get neither', async () => {
    const proxy = await behindProxy()
    const site = await startSite({ operations, auth, objects: await settings(proxy) })

    const called = await site.request('/call', attach('hello'))
    const { location } = (await called.json()) as { location: { uri: string } }
    const path = location.uri.slice(site.url.length)
    const mine = await site.request(path, as(ada))
    const followed = await fetch(location.uri, as(ada))
    const theirs = await site.request(path, as(bob))
    proxy.breakNext(() => true, 'cut-request', 1_000)
    const down = await site.request(path, as(ada))
    const theirsDown = await site.request(path, as(bob))

    expect(mine.status).toBe(303)
    expect(mine.headers.get('location')).toContain('X-Amz-Signature=')
    expect(await followed.text()).toBe('HELLO')
    expect(new URL(followed.url).origin).toBe(proxy.endpoint)
    expect(followed.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''loud.txt")
    expect([theirs.status, theirs.headers.get('location')]).toEqual([404, null])
    expect([down.status, down.headers.get('location')]).toEqual([503, null])
    expect(down.headers.get('retry-after')).toBe('2')
    expect([theirsDown.status, theirsDown.headers.get('location')]).toEqual([404, null])
  })

  test('chunks are written by one server and read through another with the same bucket', async () => {
    const proxy = await behindProxy()
    const objects = await settings(proxy)
    const data = temporaryFolder()
    const first = await startSite({ operations, auth, objects, sizes: { chunkBytes: 32 }, data })
    await first.call('v1:texts.count', {}, { requestId: 'count-1' }, as(ada))
    await first.ended('count-1', as(ada).headers)
    await first.close()
    const second = await startSite({ operations, auth, objects, data })

    let text = ''
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const answer = await second.request(`/ops/count-1/chunks${cursor && `?cursor=${cursor}`}`, as(ada))
      const envelope = (await answer.json()) as { data: string; cursor: string | null }
      text += envelope.data
      cursor = envelope.cursor ?? undefined
    }

    expect(text).toBe(Array.from({ length: 50 }, (_, number) => `${number}\n`).join(''))
  })

  test('expired calls leave nothing in the bucket', async () => {
    const proxy = await behindProxy()
    const objects = await settings(proxy)
    const clock = createStepClock()
    const site = await startSite({ operations, auth, objects, clock })
    await site.request('/call', attach('hello'))
    const owners = async () => {
      const { url } = objects
      const store = await s3.open('', { url })
      const found = await Array.fromAsync(store.owners(-Number.MAX_SAFE_INTEGER))
      store.close()
      return found.length
    }
    expect(await owners()).toBe(1)

    clock.advance(2 * 86_400_000)

    await expect
      .poll(() => {
        clock.advance(6_000)
        return owners()
      })
      .toBe(0)
  })

  test('while S3 is away the server starts, refuses what needs it with a hint, and runs the rest', async () => {
    const proxy = await behindProxy()
    const objects = await settings(proxy)
    proxy.breakNext(() => true, { answer: 503, code: 'SlowDown' }, 40)
    const lines: string[] = []
    const logTo = { write: (line: string) => void lines.push(line) }
    const site = await startSite({ operations, auth, objects, log: 'info', logTo })

    const refused = await site.request('/call', attach('hello'))
    const ran = await site.call('v1:sums.add', {}, undefined, as(ada))
    await expect.poll(async () => (await site.request('/call', attach('hello'))).status, { timeout: 20_000 }).toBe(202)

    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(ran).toMatchObject({ status: 200, body: { result: 3 } })
    expect(lines.join('')).toContain('the object storage does not respond')
  }, 60_000)

  test.for([
    [
      'a bucket of another region',
      { answer: 301, code: 'PermanentRedirect', headers: { 'x-amz-bucket-region': 'eu-west-1' } },
      'Set region=eu-west-1',
    ],
    [
      'a signature for another region',
      { answer: 400, code: 'AuthorizationHeaderMalformed' },
      'Set region and endpoint',
    ],
    [
      'a redirect',
      { answer: 307, code: 'TemporaryRedirect', headers: { location: 'http://169.254.169.254/' } },
      'redirects are not followed',
    ],
    ['credentials that may not write', { answer: 403, code: 'AccessDenied' }, 'Check the credentials'],
    ['no such bucket', { answer: 404, code: 'NoSuchBucket' }, 'exists at this endpoint'],
  ] as const)('the start is refused with what to do: %s', async ([, answer, advice]) => {
    const proxy = await behindProxy()
    const objects = await settings(proxy)
    proxy.breakNext(() => true, answer, 100)

    await expect(startSite({ operations, auth, objects })).rejects.toMatchObject({
      code: 'OBJECTS_UNUSABLE',
      message: expect.stringContaining(advice),
    })
    expect(proxy.seen.length).toBe(1)
  })

  test('neither the log nor a reply has a secret, also if S3 refuses it', async () => {
    const proxy = await behindProxy()
    const { url } = await settings(proxy)
    const lines: string[] = []
    const logTo = { write: (line: string) => void lines.push(line) }
    const { credentials } = s3.server
    const tell = operation('v1:texts.tell', {
      run: (_args, ctx) =>
        ctx.log.info({ key: credentials.secretAccessKey }, `the key is ${credentials.secretAccessKey}`),
    })
    let current = credentials
    const site = await startSite({
      operations: [...operations, tell],
      auth,
      objects: { url, credentials: async () => ({ ...current, expiration: new Date() }) },
      log: 'debug',
      logTo,
      requestLog: true,
    })
    const good = await site.request('/call', attach('hello'))
    await site.call('v1:texts.tell', {}, undefined, as(ada))
    current = { accessKeyId: credentials.accessKeyId, secretAccessKey: 'another-secret-of-nobody' }

    const refused = await site.request('/call', attach('hello'))

    expect([good.status, refused.status]).toEqual([202, 503])
    const all = [...lines, await refused.text()].join('\n')
    expect(all).toContain('the key is [redacted]')
    expect(all).toContain('SignatureDoesNotMatch')
    for (const secret of [credentials.secretAccessKey, 'another-secret-of-nobody']) expect(all).not.toContain(secret)
    expect(all).not.toContain('X-Amz-Signature')
  })
})
