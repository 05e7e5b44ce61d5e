/** Shows the arguments, the result or the error of a call. Every time is in the audit trail before it is shown. */
import { Fault } from '../../../core/fault.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import { COUNT, record, TEXT } from '../shapes.ts'
import { type CallsParts, callOf } from './parts.ts'
import { PARTS, type Part, reveal } from './revealed.ts'
import { noteReveal } from './reveals.ts'

const NAME = 'v1:callplane.calls.payload'
const MAX_BYTES = 262_144

interface PayloadArgs {
  id: string
  part: Part
  /** Of the first byte. */
  offset?: number
  bytes?: number
}

interface Payload {
  part: Part
  mediaType: string
  /** Of the whole part. */
  bytes: number
  /** Of this slice. It is lower than asked if a character begins before. */
  offset: number
  text: string
  /** True if the part ends with this slice. */
  complete: boolean
  /** JSON pointers of the values that are not shown. */
  redactions: string[]
}

export function getPayload(parts: () => CallsParts) {
  return operation(NAME, {
    description:
      'Returns the arguments, the result or the error of a call as JSON text, in slices. Secrets are not shown. The audit trail gets an entry each time.',
    internal: true,
    scopes: [SCOPES.payloads],
    args: jsonSchema<PayloadArgs>(
      record(
        {
          id: TEXT,
          part: { enum: [...PARTS] },
          offset: COUNT,
          bytes: { type: 'integer', minimum: 4, maximum: MAX_BYTES },
        },
        ['id', 'part'],
      ),
    ),
    result: jsonSchema<Payload>({
      type: 'object',
      required: ['part', 'mediaType', 'bytes', 'offset', 'text', 'complete', 'redactions'],
      properties: {
        part: { enum: [...PARTS] },
        mediaType: { type: 'string' },
        bytes: COUNT,
        offset: COUNT,
        text: { type: 'string' },
        complete: { type: 'boolean' },
        redactions: { type: 'array', items: { type: 'string' } },
      },
    }),
    run: async (args, ctx) => {
      const all = parts()
      const { id, part, offset = 0, bytes = MAX_BYTES } = args
      const instance = await callOf(all, ctx.caller, id)
      const shown = reveal(all, instance, part)
      if (!shown) throw new Fault('not-found', `The call has no ${part}. Read its state with v1:callplane.calls.get.`)
      await noteReveal(all, NAME, args, ctx, { call: instance.id, part })
      const { value, redactions } = shown
      return { part, mediaType: 'application/json', ...sliceOf(JSON.stringify(value), offset, bytes), redactions }
    },
  })
}

/** Both ends are moved down to the beginning of a character. */
function sliceOf(text: string, offset: number, most: number): Pick<Payload, 'bytes' | 'offset' | 'text' | 'complete'> {
  const all = new TextEncoder().encode(text)
  const start = beginningAt(all, Math.min(offset, all.length))
  const end = beginningAt(all, Math.min(start + most, all.length))
  const slice = new TextDecoder('utf-8', { ignoreBOM: true }).decode(all.subarray(start, end))
  return { bytes: all.length, offset: start, text: slice, complete: end === all.length }
}

/** In UTF-8, the bytes of a character after its first one begin with the bits 10. */
function beginningAt(bytes: Uint8Array, at: number): number {
  let start = at
  while (start > 0 && start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start--
  return start
}
