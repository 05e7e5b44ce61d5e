/**
 * Attachments of a call. A model can only send JSON, so attachments are an additional argument, in base64 or as an
 * address. They are removed from the arguments before the operation gets them.
 */

import type { MediaInput } from '../../../core/call/call.ts'
import { checkType, cleanFilename, slotFor } from '../../../core/call/media.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { ObjectStore } from '../../../core/ports/objects.ts'

const NAME = 'attachments'

/** Returns another name if the operation already has an argument with this name. */
function argumentOf({ schemas }: Operation): string {
  const { properties } = schemas.args
  return isJsonObject(properties) && Object.hasOwn(properties, NAME) ? `_${NAME}` : NAME
}

export function withAttachments(operation: Operation, schema: JsonObject): JsonObject {
  if (operation.media.length === 0) return schema
  const { properties, required } = schema
  const name = argumentOf(operation)
  const needed = operation.media.filter((slot) => slot.required).map((slot) => slot.name)
  return {
    ...schema,
    properties: {
      ...(isJsonObject(properties) && properties),
      [name]: {
        type: 'object',
        description: 'Files, each in base64 ("data") or as an address ("uri").',
        properties: Object.fromEntries(
          operation.media.map((slot) => [
            slot.name,
            {
              type: 'object',
              description: `One of ${slot.acceptedTypes.join(', ')}, at most ${slot.maxBytes} bytes.`,
              properties: {
                mimeType: { type: 'string' },
                filename: { type: 'string' },
                data: { type: 'string' },
                uri: { type: 'string' },
              },
              required: ['mimeType'],
            },
          ]),
        ),
        additionalProperties: false,
        ...(needed.length > 0 && { required: needed }),
      },
    },
    ...(needed.length > 0 && { required: [...(Array.isArray(required) ? required : []), name] }),
  }
}

export interface Attached {
  args: JsonObject
  media: readonly MediaInput[]
  /** Owner id of the stored bytes. */
  uploads?: string
}

/** Stores data under `owner`. Removes all of it if this function throws. */
export async function takeAttachments(
  operation: Operation,
  sent: JsonObject,
  owner: string,
  objects: ObjectStore,
): Promise<Attached> {
  const name = argumentOf(operation)
  const { [name]: attachments = {}, ...args } = sent
  if (!isJsonObject(attachments)) throw refused(`"${name}" must be an object with one entry for each file.`)
  const media: MediaInput[] = []
  try {
    for (const [slot, value] of Object.entries(attachments)) {
      media.push(await takeOne(operation, slot, value, `${owner}/part-${media.length}`, objects))
    }
  } catch (thrown) {
    await objects.removeOwner(owner)
    throw thrown
  }
  return media.some(({ source }) => source.kind === 'object') ? { args, media, uploads: owner } : { args, media }
}

async function takeOne(
  operation: Operation,
  name: string,
  value: JsonValue,
  objectId: string,
  objects: ObjectStore,
): Promise<MediaInput> {
  const slot = slotFor(operation, name)
  const { mimeType, data, uri, filename: sent } = isJsonObject(value) ? value : {}
  if (typeof mimeType !== 'string') throw refused(`The attachment "${name}" needs a "mimeType".`)
  checkType(slot, mimeType)
  const filename = typeof sent === 'string' ? cleanFilename(sent) : undefined
  const file = { name, mimeType, ...(filename !== undefined && { filename }) }
  if (typeof uri === 'string' && data === undefined) return { ...file, source: { kind: 'ref', uri } }
  if (typeof data !== 'string' || uri !== undefined) {
    throw refused(`The attachment "${name}" needs either "data", in base64, or "uri".`)
  }
  const { bytes, sha256 } = await objects.put(objectId, once(decodeBase64(name, data)), {
    mimeType,
    maxBytes: slot.maxBytes,
  })
  return { ...file, source: { kind: 'object', objectId, bytes, sha256 } }
}

function decodeBase64(name: string, data: string): Uint8Array {
  try {
    return Uint8Array.from(atob(data), (character) => character.charCodeAt(0))
  } catch (cause) {
    throw new Fault('invalid-input', `The "data" of the attachment "${name}" is not base64.`, {
      code: 'INVALID_ATTACHMENT',
      cause,
    })
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes
}

function refused(message: string): Fault {
  return new Fault('invalid-input', message, { code: 'INVALID_ATTACHMENT' })
}
