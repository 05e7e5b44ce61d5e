/**
 * Attachments for an operation that runs without a server: passed as text or bytes, and stored where its context reads
 * them.
 */

import type { MediaInput } from '../../core/call/call.ts'
import { cleanFilename, slotFor } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { MediaSlot } from '../../core/operation/rules.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import { bytes } from '../suites/objects/object-content.ts'

/** The content. Default type: the first type without a wildcard that the operation accepts. */
export type GivenMedia = string | Uint8Array | { content: string | Uint8Array; mimeType: string; filename?: string }

export async function storeMedia(
  operation: Operation,
  owner: string,
  given: Readonly<Record<string, GivenMedia>>,
  objects: ObjectStore,
): Promise<MediaInput[]> {
  return Promise.all(
    Object.entries(given).map(async ([name, media]) => {
      const slot = slotFor(operation, name)
      const plain = typeof media === 'string' || media instanceof Uint8Array
      const content = plain ? media : media.content
      const mimeType = plain ? defaultType(slot, content) : media.mimeType
      const objectId = `${owner}/media-${name}`
      const put = await objects.put(objectId, once(content), { mimeType, maxBytes: Number.POSITIVE_INFINITY })
      const filename = plain || media.filename === undefined ? undefined : cleanFilename(media.filename)
      return {
        name,
        mimeType,
        ...(filename !== undefined && { filename }),
        source: { kind: 'object', objectId, bytes: put.bytes, sha256: put.sha256 },
      }
    }),
  )
}

function defaultType({ acceptedTypes }: MediaSlot, content: string | Uint8Array): string {
  const named = acceptedTypes.find((type) => !type.includes('*'))
  return named ?? (typeof content === 'string' ? 'text/plain' : 'application/octet-stream')
}

async function* once(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof content === 'string' ? bytes(content) : content
}

/** Attachments are passed by value here, so there is nothing to fetch. */
export const noFetcher: Fetcher = {
  probe: () => Promise.reject(nothingToFetch()),
  open: () => {
    throw nothingToFetch()
  },
}

function nothingToFetch(): Fault {
  return new Fault(
    'internal',
    'An operation that runs without a server cannot fetch attachments. Pass the content itself.',
  )
}
