/** "Media and Large Object Handling": results with their own URL. */
import { createHash } from 'node:crypto'
import { must, mustBeOneOf, mustBeText, mustEqual, should } from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { expectStatus, textOf } from '../../http.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

async function makeFile(server: Subject, headers: Record<string, string> = {}) {
  const part = await server.part('file')
  const answer = await server.invoke(part, {}, { headers })
  mustEqual(answer.envelope.state, 'complete', 'state')
  must(answer.envelope.location !== undefined, 'There is no location.')
  return { ...answer, part, uri: answer.envelope.location.uri, location: answer.envelope.location }
}

async function redirected(server: Subject) {
  const answer = await makeFile(server, { prefer: 'redirect' })
  if (answer.status !== 303) {
    throw new NotApplicable('The server does not redirect on "Prefer: redirect", which is optional.')
  }
  return answer
}

export const objectCases = [
  defineCase(
    'located-status',
    'a result at a location is 202, or 303 if it needs no credential, never 200',
    [105, 120, 145, 177, 241],
    async (server) => {
      const { status, uri } = await makeFile(server)
      const stranger = await server.send(uri, { anonymous: true })
      mustBeOneOf(status, stranger.status === 200 ? [202, 303] : [202], 'status of a result at a location')
    },
  ),

  defineCase('redirect-header', 'a 303 has the Location header that location.uri has', [119], async (server) => {
    const { headers, uri } = await redirected(server)
    mustEqual(headers.get('location'), uri, 'Location')
  }),

  defineCase(
    'redirect-is-followable',
    'a generic client can follow a 303 and get the bytes without a credential',
    [82, 106, 120, 176, 241, 242],
    async (server) => {
      const { uri, location } = await redirected(server)
      must(/^https?:/.test(new URL(uri, server.target.url).protocol), `${uri} is not plain HTTP.`)
      mustEqual(location.auth, undefined, 'location.auth of a redirect')
      const { bytes } = await expectStatus(200, server.send(uri, { anonymous: true }))
      must(bytes.length > 0, 'The redirect leads to an empty response.')
    },
  ),

  defineCase('open-location-needs-no-auth', 'a location that needs no credential has no auth', [86], async (server) => {
    const { uri, location } = await makeFile(server)
    const { status } = await server.send(uri, { anonymous: true })
    if (status !== 200) throw new NotApplicable('The URL needs a credential.')
    mustEqual(location.auth, undefined, 'location.auth of a public URL')
  }),

  defineCase(
    'raw-bytes',
    'the URL serves the raw bytes, with their type and without an envelope',
    [178, 179, 180],
    async (server) => {
      const { uri, part } = await makeFile(server)
      const answer = await expectStatus(200, server.send(uri))
      const type = mustBeText(answer.headers.get('content-type'), 'Content-Type').split(';')[0]
      must(!isEnvelope(textOf(answer)), 'The bytes are wrapped in an envelope.')
      const { content } = part.example
      if (content === undefined) return
      mustEqual(createHash('sha256').update(answer.bytes).digest('hex'), content.sha256, 'SHA-256 of the bytes')
      mustEqual(type, content.mimeType, 'Content-Type')
    },
  ),

  defineCase(
    'ranges',
    'the URL supports HTTP ranges',
    [181],
    async (server) => {
      const { uri } = await makeFile(server)
      const whole = await expectStatus(200, server.send(uri))
      const size = whole.bytes.length
      if (size < 8) throw new NotApplicable('The file is too small for ranges.')
      mustEqual(whole.headers.get('accept-ranges'), 'bytes', 'Accept-Ranges')
      const ranges = [
        ['bytes=0-3', 0, 4],
        ['bytes=5-', 5, size],
        ['bytes=-6', size - 6, size],
        [`bytes=${size - 2}-${size + 100}`, size - 2, size],
      ] as const
      for (const [range, start, end] of ranges) {
        const answer = await expectStatus(206, server.send(uri, { headers: { range } }), range)
        mustEqual([...answer.bytes], [...whole.bytes.subarray(start, end)], `The bytes of ${range}`)
        mustEqual(answer.headers.get('content-range'), `bytes ${start}-${end - 1}/${size}`, `Content-Range of ${range}`)
      }
      const beyond = await expectStatus(416, server.send(uri, { headers: { range: `bytes=${size}-` } }))
      mustEqual(beyond.headers.get('content-range'), `bytes */${size}`, 'Content-Range beyond the end')
    },
    'should',
  ),

  defineCase(
    'http-caching',
    'the URL supports caching and conditional requests',
    [145, 146],
    async (server) => {
      const { uri } = await makeFile(server)
      const { headers } = await expectStatus(200, server.send(uri))
      const [etag, modified] = [headers.get('etag'), headers.get('last-modified')]
      const policy = headers.get('cache-control') ?? ''
      must(
        policy !== '' && !/\bno-store\b/i.test(policy),
        `Cache-Control is "${policy}", so the response cannot be cached.`,
      )
      must(etag !== null && modified !== null, 'There is no ETag or no Last-Modified.')

      await expectStatus(304, server.send(uri, { headers: { 'if-none-match': etag } }))
      await expectStatus(304, server.send(uri, { headers: { 'if-modified-since': modified } }))
      await expectStatus(200, server.send(uri, { headers: { 'if-none-match': '"another"' } }))
    },
    'should',
  ),

  defineCase('no-such-object', 'the URL of a missing object is 404 with an envelope', [112], async (server) => {
    const { uri } = await makeFile(server)
    const other = new URL(uri, `${server.target.url}/`)
    other.pathname = `${other.pathname}-not-there`
    const answer = await expectStatus([401, 403, 404], server.send(other.href))
    if (other.origin !== new URL(server.target.url).origin) return
    mustEqual(answer.status, 404, 'status of a missing object')
    should(isEnvelope(textOf(answer)), 'The 404 of an object is not an envelope.')
  }),
]

function isEnvelope(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'state' in value && ('result' in value || 'error' in value)
  } catch {
    return false
  }
}
