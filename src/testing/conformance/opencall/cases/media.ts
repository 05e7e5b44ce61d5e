/** "Media Ingress": inline attachments, in the specification's multipart shape and in the shape that browsers send. */
import { ideally, type JsonMembers, must, mustBeText, mustEqual, should } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import { digestOf, envelopeOf, prepareUpload, type Upload, upload } from '../attachments.ts'
import { defineCase } from '../define.ts'
import { envelopePart, multipart } from '../multipart.ts'
import type { Answered } from '../subject.ts'

/** Accepted, whatever the operation does with the attachment. */
const TAKEN = [200, 202, 303]
/** The most that a check sends to a server. */
const MOST_BYTES = 12 * 1024 * 1024

function mustDescribe({ part, slot }: Upload, { envelope }: Answered): void {
  if (part.example.digest) mustEqual(envelope.result, digestOf(slot), 'result')
}

export const mediaCases = [
  defineCase('inline', "the document's multipart example works, byte for byte", [182, 297], async (server) => {
    const prepared = await prepareUpload(server)
    mustDescribe(prepared, await expectStatus(TAKEN, upload(server, prepared)))
  }),

  defineCase(
    'inline-by-browser',
    'multipart from FormData works, with the envelope as a field or as a blob',
    [184],
    async (server) => {
      const prepared = await prepareUpload(server)
      const { slot, entry, others } = prepared
      const envelope = () => JSON.stringify(envelopeOf(prepared, [entry]))
      const fields = [
        envelope,
        () => new Blob([envelope()], { type: 'application/json' }),
        () => new Blob([envelope()]),
      ]
      for (const field of fields) {
        for (const envelopeFirst of [true, false]) {
          const form = new FormData()
          if (envelopeFirst) form.append('envelope', field())
          const content = new Blob([new Uint8Array(slot.content)], { type: slot.mimeType })
          form.append(entry.part, content, 'selfie.png')
          for (const { file } of others)
            form.append(file.name, new Blob([file.content as string], { type: file.type ?? '' }), 'other')
          if (!envelopeFirst) form.append('envelope', field())
          mustDescribe(prepared, await expectStatus(TAKEN, server.post(form)))
        }
      }
    },
  ),

  defineCase('envelope-part', 'multipart without a part named envelope is 400', [183], async (server) => {
    const prepared = await prepareUpload(server)
    const content = JSON.stringify(envelopeOf(prepared, [prepared.entry]))
    for (const parts of [[prepared.file], [{ name: 'json', content, type: 'application/json' }, prepared.file]]) {
      const { body, ...request } = multipart(parts)
      await expectStatus(400, server.post(body, request))
    }
  }),

  defineCase('media-array', 'media is an array of objects', [22], async (server) => {
    const prepared = await prepareUpload(server)
    await expectStatus(TAKEN, upload(server, prepared))
    for (const media of [prepared.entry, 'selfie', 7, ['selfie'], [null]]) {
      await expectStatus(400, upload(server, prepared, media))
    }
  }),

  defineCase(
    'media-optional',
    'media is optional in the envelope, and required only by the operation',
    [188, 192, 193],
    async (server) => {
      const plain = await server.part('sync')
      await expectStatus(200, server.invoke(plain))
      await expectStatus(200, server.invoke(plain, { media: [] }))
      const { part, slot } = await prepareUpload(server)
      if (slot.required !== true) return
      for (const media of [undefined, []]) {
        const { envelope } = await expectStatus(400, server.invoke(part, { ...(media && { media }) }))
        should(
          JSON.stringify(envelope.error).includes(slot.name),
          `The error does not name the missing attachment: ${envelope.error?.message}`,
        )
      }
    },
  ),

  defineCase('media-name', 'an attachment that the operation does not declare is refused', [23], async (server) => {
    const prepared = await prepareUpload(server)
    const { entry, file } = prepared
    const other = { ...entry, name: 'not-declared-here', part: 'other' }
    await expectStatus(TAKEN, upload(server, prepared))
    await expectStatus(400, upload(server, prepared, [entry, other], [file, { ...file, name: 'other' }]))
    const { op, args } = await server.part('sync')
    const { body, ...request } = multipart([envelopePart({ op, args, media: [entry] }), file])
    await expectStatus(400, server.post(body, request))
  }),

  defineCase('media-type-stated', 'every attachment says its type', [24], async (server) => {
    const prepared = await prepareUpload(server)
    const { mimeType: _, ...untyped } = prepared.entry
    await expectStatus(400, upload(server, prepared, [untyped]))
    await expectStatus(400, upload(server, prepared, [{ ...prepared.entry, mimeType: 7 }]))
  }),

  defineCase(
    'ref-or-part',
    'an attachment has a ref or a part: not both, and not neither',
    [25, 26],
    async (server) => {
      const prepared = await prepareUpload(server)
      const { part: _, ...neither } = prepared.entry
      const both = { ...prepared.entry, ref: 'https://uploads.example.com/obj/abc123' }
      await expectStatus(400, upload(server, prepared, [both]))
      await expectStatus(400, upload(server, prepared, [neither]))
    },
  ),

  defineCase('dangling-part', 'a part that is named but not sent is refused', [27], async (server) => {
    const prepared = await prepareUpload(server)
    await expectStatus(400, upload(server, prepared, [{ ...prepared.entry, part: 'another' }]))
    await expectStatus(400, server.invoke(prepared.part, { media: [prepared.entry] }))
  }),

  defineCase('ref-is-a-uri', 'a ref that is not a URI is refused', [28], async (server) => {
    const { part, entry } = await prepareUpload(server)
    const { part: _, ...named } = entry
    const refused = []
    for (const ref of ['not a uri', '', 7, '/relative']) {
      refused.push(await expectStatus(400, server.invoke(part, { media: [{ ...named, ref }] })))
    }
    for (const { envelope } of refused) {
      ideally(
        JSON.stringify(envelope.error).includes('ref'),
        `The error is not about "ref": ${envelope.error?.message}`,
      )
    }
  }),

  defineCase('media-type-accepted', 'a type that mediaSchema does not accept is refused', [189], async (server) => {
    const prepared = await prepareUpload(server)
    const { slot, entry, file } = prepared
    const accepted = Array.isArray(slot.acceptedTypes) ? slot.acceptedTypes.map(String) : []
    const type = ['application/zip', 'video/mp4'].find((each) => !accepts(accepted, each))
    if (accepted.length === 0 || type === undefined) throw new NotApplicable('The attachment may be of any type.')
    const wrong = { ...file, type, filename: 'a.bin' }
    const { envelope } = await expectStatus(400, upload(server, prepared, [{ ...entry, mimeType: type }], [wrong]))
    await expectStatus(TAKEN, upload(server, prepared))
    should(
      JSON.stringify(envelope.error).includes(type.replace(/^.*\//, '')),
      'The error does not name the type it refuses.',
    )
  }),

  defineCase('media-size', 'maxBytes bytes are accepted, and one byte more is refused', [190], async (server) => {
    const prepared = await prepareUpload(server)
    const { maxBytes } = prepared.slot
    must(typeof maxBytes === 'number', 'maxBytes is not a number.')
    if (maxBytes > MOST_BYTES) throw new Skip(`maxBytes is ${maxBytes}, more than a check sends.`)
    const sized = (bytes: number) =>
      upload(server, prepared, undefined, [{ ...prepared.file, content: Buffer.alloc(bytes) }])
    const { envelope } = await expectStatus(TAKEN, sized(maxBytes))
    if (prepared.part.example.digest) {
      mustEqual((envelope.result as JsonMembers).bytes, maxBytes, 'bytes of the largest attachment')
    }
    await expectStatus([400, 413], sized(maxBytes + 1))
  }),

  defineCase(
    'media-declared',
    'the registry says which attachments an operation takes',
    [187, 194, 249],
    async (server) => {
      const { part, slot } = await prepareUpload(server)
      must(typeof slot.required === 'boolean', `required of ${slot.name} of ${part.op} is not a boolean.`)
      const { acceptedTypes } = slot
      must(
        Array.isArray(acceptedTypes) && acceptedTypes.length > 0,
        'acceptedTypes of the attachment is not a list with entries.',
      )
      for (const type of acceptedTypes) mustBeText(type, 'An accepted type')
      must(Number.isInteger(slot.maxBytes) && Number(slot.maxBytes) > 0, 'maxBytes is not a number of bytes.')
    },
  ),
]

function accepts(types: readonly string[], type: string): boolean {
  return types.some((each) => each === type || each === '*/*' || each === type.replace(/\/.*$/, '/*'))
}
