/** "Media Ingress": attachments inline, in the specification's own multipart shape and as browsers make it. */
import { createHash, randomUUID } from 'node:crypto'
import { type JsonMembers, must, mustBeObject, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import { envelopePart, multipart, type SentPart } from '../multipart.ts'
import { type Answered, type Subject, sentBy } from '../subject.ts'

/** Line breaks, the boundary's own beginning and every byte there is: what careless parsers stumble over. */
const PICTURE = Buffer.concat([
  Buffer.from('\r\n--\r\n------bound\r\n\r\n'),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from('\r\n'),
])
const ENTRY = { name: 'file', mimeType: 'image/png', part: 'selfie' }
const FILE: SentPart = { name: 'selfie', content: PICTURE, type: 'image/png', filename: 'selfie.png' }
const DESCRIBED = {
  mimeType: 'image/png',
  bytes: PICTURE.length,
  sha256: createHash('sha256').update(PICTURE).digest('hex'),
}

async function upload(server: Subject, entries: unknown, parts: readonly SentPart[] = [FILE]): Promise<Answered> {
  const { op } = await server.part('describe')
  const envelope: JsonMembers = { op, args: {}, media: entries, ctx: { requestId: randomUUID() } }
  const { body, ...request } = multipart([envelopePart(envelope), ...parts])
  return server.post(body, request, sentBy(envelope))
}

async function slot(server: Subject): Promise<JsonMembers> {
  const { mediaSchema } = await server.part('describe')
  must(Array.isArray(mediaSchema), 'mediaSchema is not an array.')
  const found = mediaSchema.find((entry) => mustBeObject(entry, 'An entry of mediaSchema').name === 'file')
  return mustBeObject(found, 'The entry "file" of mediaSchema')
}

export const mediaCases = [
  defineCase('inline', "the document's multipart example works, byte for byte", [182, 297], async (server) => {
    const { envelope } = await expectStatus(200, upload(server, [ENTRY]))
    mustEqual(envelope.result, DESCRIBED, 'result')
  }),

  defineCase(
    'inline-by-browser',
    'what FormData makes works, with the envelope as a field or as a blob',
    [184],
    async (server) => {
      const { op } = await server.part('describe')
      const envelope = JSON.stringify({ op, media: [{ ...ENTRY, part: 'upload' }] })
      for (const field of [envelope, new Blob([envelope], { type: 'application/json' }), new Blob([envelope])]) {
        for (const envelopeFirst of [true, false]) {
          const form = new FormData()
          if (envelopeFirst) form.append('envelope', field)
          form.append('upload', new Blob([PICTURE], { type: 'image/png' }), 'selfie.png')
          if (!envelopeFirst) form.append('envelope', field)
          const answer = await expectStatus(200, server.post(form))
          mustEqual(answer.envelope.result, DESCRIBED, 'result')
        }
      }
    },
  ),

  defineCase('envelope-part', 'multipart without a part named envelope is 400', [183], async (server) => {
    const { op } = await server.part('describe')
    const content = JSON.stringify({ op, media: [ENTRY] })
    for (const parts of [[FILE], [{ name: 'json', content, type: 'application/json' }, FILE]]) {
      const { body, ...request } = multipart(parts)
      await expectStatus(400, server.post(body, request))
    }
  }),

  defineCase('media-array', 'media is an array of objects', [22], async (server) => {
    await expectStatus(200, upload(server, [ENTRY]))
    for (const media of [ENTRY, 'selfie', 7, ['selfie'], [null]]) await expectStatus(400, upload(server, media))
  }),

  defineCase(
    'media-optional',
    'media is optional in the envelope, and required only by the operation',
    [188, 192, 193],
    async (server) => {
      const { op: plain } = await server.part('add')
      const { op } = await server.part('describe')
      await expectStatus(200, server.call({ op: plain, args: { a: 1, b: 2 } }))
      await expectStatus(200, server.call({ op: plain, args: { a: 1, b: 2 }, media: [] }))
      for (const media of [undefined, []]) {
        const { envelope } = await expectStatus(400, server.call({ op, ...(media && { media }) }))
        must(JSON.stringify(envelope.error).includes('file'), 'The error does not name the attachment that is missing.')
      }
    },
  ),

  defineCase('media-name', 'an attachment that the operation does not declare is refused', [23], async (server) => {
    const other = { ...ENTRY, name: 'other', part: 'other' }
    const part = { ...FILE, name: 'other' }
    await expectStatus(200, upload(server, [ENTRY]))
    await expectStatus(400, upload(server, [ENTRY, other], [FILE, part]))
    const { op } = await server.part('add')
    const { body, ...request } = multipart([envelopePart({ op, args: { a: 1, b: 2 }, media: [ENTRY] }), FILE])
    await expectStatus(400, server.post(body, request))
  }),

  defineCase('media-type-stated', 'every attachment says its type', [24], async (server) => {
    const { mimeType: _, ...untyped } = ENTRY
    await expectStatus(400, upload(server, [untyped]))
    await expectStatus(400, upload(server, [{ ...ENTRY, mimeType: 7 }]))
  }),

  defineCase(
    'ref-or-part',
    'an attachment has a ref or a part: not both, and not neither',
    [25, 26],
    async (server) => {
      const { part: _, ...neither } = ENTRY
      await expectStatus(400, upload(server, [{ ...ENTRY, ref: 'https://uploads.example.com/obj/abc123' }]))
      await expectStatus(400, upload(server, [neither]))
    },
  ),

  defineCase('dangling-part', 'a part that is named but not sent is refused', [27], async (server) => {
    await expectStatus(400, upload(server, [{ ...ENTRY, part: 'another' }]))
    const { op } = await server.part('describe')
    await expectStatus(400, server.call({ op, media: [ENTRY] }))
  }),

  defineCase('ref-is-a-uri', 'a ref that is no URI is refused', [28], async (server) => {
    const { op } = await server.part('describe')
    for (const ref of ['not a uri', '', 7, '/relative']) {
      const media = [{ name: 'file', mimeType: 'image/png', ref }]
      const { envelope } = await expectStatus(400, server.call({ op, media }))
      must(JSON.stringify(envelope.error).includes('ref'), `The error is not about "ref": ${envelope.error?.message}`)
    }
  }),

  defineCase('media-type-accepted', 'a type that mediaSchema does not accept is refused', [189], async (server) => {
    const { acceptedTypes } = await slot(server)
    must(
      Array.isArray(acceptedTypes) && !acceptedTypes.includes('application/zip'),
      'acceptedTypes is not as expected.',
    )
    const zip = { ...FILE, type: 'application/zip', filename: 'a.zip' }
    const { envelope } = await expectStatus(400, upload(server, [{ ...ENTRY, mimeType: 'application/zip' }], [zip]))
    must(JSON.stringify(envelope.error).includes('zip'), 'The error does not name the type it refuses.')
    await expectStatus(200, upload(server, [{ ...ENTRY, mimeType: 'text/plain' }], [{ ...FILE, type: 'text/plain' }]))
  }),

  defineCase(
    'media-size',
    'maxBytes is the most that is taken, and one byte more is refused',
    [190],
    async (server) => {
      const { maxBytes } = await slot(server)
      must(typeof maxBytes === 'number', 'maxBytes is not a number.')
      if (maxBytes > 64 * 1024 * 1024) throw new Skip(`maxBytes is ${maxBytes}, too much to send for a test.`)
      const { envelope } = await expectStatus(
        200,
        upload(server, [ENTRY], [{ ...FILE, content: Buffer.alloc(maxBytes) }]),
      )
      mustEqual((envelope.result as JsonMembers).bytes, maxBytes, 'bytes of the largest attachment')
      await expectStatus(400, upload(server, [ENTRY], [{ ...FILE, content: Buffer.alloc(maxBytes + 1) }]))
    },
  ),

  defineCase(
    'media-declared',
    'the registry says which attachments an operation takes',
    [187, 194, 249],
    async (server) => {
      const { required, acceptedTypes, maxBytes } = await slot(server)
      mustEqual(required, true, 'required')
      must(
        Array.isArray(acceptedTypes) && acceptedTypes.some((type) => ['text/plain', 'text/*', '*/*'].includes(type)),
        'acceptedTypes does not list text/plain.',
      )
      must(Number.isInteger(maxBytes) && Number(maxBytes) > 0, 'maxBytes is not a number of bytes.')
      const { mediaSchema } = await server.part('add')
      must(mediaSchema === undefined || (Array.isArray(mediaSchema) && mediaSchema.length === 0), 'add declares media.')
    },
  ),
]
