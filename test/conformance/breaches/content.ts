/** Breaches in chunks, objects and attachments. */
import { type Breach, breach, letThrough, onAnswer, onChunk, onEnvelope, onRequest } from './breach.ts'

const isObject = (path: string) => path.startsWith('/objects/')

export const contentBreaches: readonly Breach[] = [
  onChunk('a checksum is wrong', ['chunk-checksums'], ({ chunk }) => {
    if (chunk.offset > 0) chunk.checksum = `sha256:${'0'.repeat(64)}`
  }),
  onChunk('a checksum does not name its algorithm', ['chunk-checksums'], ({ chunk }) => {
    chunk.checksum = chunk.checksum.slice('sha256:'.length)
  }),
  onChunk('checksumPrevious is missing', ['chunk-checksums'], ({ chunk }) => {
    delete chunk.checksumPrevious
  }),
  onChunk('the first checksumPrevious is not null', ['chunk-checksums', 'chunks-of-a-small-result'], ({ chunk }) => {
    chunk.checksumPrevious ??= ''
  }),
  breach('the chain goes back to the first chunk', ['chunk-checksums'], () => {
    let first: string | undefined
    const hooks = onChunk('', [], ({ chunk }) => {
      first ??= chunk.checksum
      if (chunk.checksumPrevious !== null) chunk.checksumPrevious = first
    })
    return hooks.start()
  }),
  onChunk('offsets start anew with every chunk', ['chunk-offsets'], ({ chunk }) => {
    chunk.offset = 0
  }),
  onChunk('a length is wrong', ['chunk-offsets'], ({ chunk }) => {
    chunk.length += 1
  }),
  onChunk('total is the size of a chunk', ['chunk-offsets'], (envelope) => {
    if (envelope.total !== undefined) envelope.total = envelope.chunk.length
  }),
  onChunk('the last chunk has a cursor', ['chunks-in-order'], (envelope) => {
    envelope.cursor ??= 'c99'
  }),
  onChunk('the first chunk is the last', ['chunks-in-order'], (envelope) => {
    envelope.state = 'complete'
  }),
  onChunk('there is no last chunk', ['chunks-of-a-small-result', 'chunks-in-order'], (envelope) => {
    envelope.state = 'pending'
  }),
  onChunk('mimeType is missing', ['chunks-in-order'], (envelope) => {
    delete envelope.mimeType
  }),
  onChunk('text comes in base64', ['chunks-in-order'], (envelope) => {
    envelope.data = Buffer.from(envelope.data).toString('base64')
  }),
  onRequest('cursors are ignored', ['chunks-in-order', 'chunks-again'], (asked) => {
    asked.path = asked.path.replace(/\?cursor=.*/, '')
  }),
  onRequest('a foreign cursor is the first', ['foreign-cursor'], (asked) => {
    asked.path = asked.path.replace(/\?cursor=[^c].*/, '')
  }),
  onAnswer('raw chunks come without a checksum', ['chunks-as-bytes'], (served) => {
    delete served.headers['call-chunk-checksum']
  }),
  onAnswer('raw chunks come in base64', ['chunks-as-bytes'], (served) => {
    if (served.headers['content-type'] === 'application/octet-stream')
      served.body = Buffer.from(served.body.toString('base64'))
  }),
  onEnvelope('completion does not say where the chunks are', ['chunked-declared'], (envelope) => {
    if (envelope.location) envelope.location.uri = envelope.location.uri.replace('/chunks', '')
  }),
  onEnvelope('a result elsewhere is 200', ['located-status', 'status-codes'], (envelope, served) => {
    if (envelope.state === 'complete' && envelope.location) served.status = 200
  }),
  onAnswer('the Location header is another than location.uri', ['redirect-header'], (served) => {
    if (served.status === 303) served.headers.location = `${served.headers.location}?download`
  }),
  onAnswer('the Location header is missing', ['redirect-header'], (served) => {
    delete served.headers.location
  }),
  onAnswer('where a redirect leads, a credential is asked for', ['redirect-is-followable'], (served, asked) => {
    if (isObject(asked.path) && !asked.headers.authorization) served.status = 401
  }),
  onEnvelope('a public address comes with a credential', ['open-location-needs-no-auth'], (envelope) => {
    if (envelope.location) envelope.location.auth = { credentialType: 'bearer', credential: 'not-needed' }
  }),
  onEnvelope('a file stands in the result', ['complete-located', 'raw-bytes'], (envelope) => {
    if (envelope.state !== 'complete' || !envelope.location) return
    delete envelope.location
    envelope.result = { base64: 'PHN2Zy8+' }
  }),
  onAnswer('a file comes in an envelope', ['raw-bytes'], (served, { path }) => {
    if (isObject(path)) served.body = Buffer.from(JSON.stringify({ state: 'complete', result: `${served.body}` }))
  }),
  onAnswer('a file has no type of its own', ['raw-bytes'], (served, { path }) => {
    if (isObject(path)) served.headers['content-type'] = 'application/octet-stream'
  }),
  onRequest('ranges are ignored', ['ranges'], ({ headers }) => {
    delete headers.range
  }),
  onAnswer('Content-Range is missing', ['ranges'], (served) => {
    delete served.headers['content-range']
  }),
  onAnswer('a range beyond the end is empty', ['ranges'], (served) => {
    if (served.status === 416) served.status = 206
  }),
  onAnswer('Accept-Ranges is missing', ['ranges'], (served) => {
    delete served.headers['accept-ranges']
  }),
  onRequest('If-None-Match is ignored', ['http-caching', 'registry-caching'], ({ headers }) => {
    delete headers['if-none-match']
  }),
  onRequest('If-Modified-Since is ignored', ['http-caching'], ({ headers }) => {
    delete headers['if-modified-since']
  }),
  onAnswer('a file may not be kept', ['http-caching'], (served, { path }) => {
    if (isObject(path)) served.headers['cache-control'] = 'no-store'
  }),
  onAnswer('an attachment loses a byte', ['inline', 'inline-by-browser'], (served) => {
    served.body = Buffer.from(served.body.toString().replace(/"bytes":(\d+)/, (_, bytes) => `"bytes":${bytes - 1}`))
  }),
  letThrough(['ENVELOPE_MISSING', 'STRAY_PART'], ['envelope-part']),
  letThrough(['INVALID_REQUEST'], ['media-array', 'media-type-stated', 'ref-or-part', 'ref-is-a-uri']),
  letThrough(['MEDIA_REQUIRED'], ['media-optional']),
  letThrough(['UNKNOWN_MEDIA'], ['media-name']),
  letThrough(['PART_MISSING', 'STRAY_PART'], ['dangling-part']),
  letThrough(['UNSUPPORTED_MEDIA_TYPE'], ['media-type-accepted']),
  letThrough(['MEDIA_TOO_LARGE'], ['media-size']),
]
