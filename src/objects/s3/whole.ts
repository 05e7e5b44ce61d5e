/**
 * Objects that are stored in one piece: attachments and unchunked results. `….object` makes an object exist: it has the
 * facts, and the bytes unless they were sent in parts. Their SHA-256 is known only after the last part, and S3 takes
 * metadata only before the first, so such bytes are an object of their own.
 */
import { randomUUID } from 'node:crypto'
import type { ObjectInfo, PutOptions } from '../../core/ports/objects.ts'
import type { Bucket, Headers } from './bucket.ts'
import { contentType, decodeFacts, encodeFacts, shortFilename, type WholeFacts } from './facts.ts'
import type { KeepFresh } from './freshness.ts'
import { unreachable } from './http/problems.ts'
import { EMPTY_HASH } from './http/sigv4.ts'
import type { Keys } from './keys.ts'
import { type UploadParts, upload } from './upload.ts'

export interface WholeParts extends UploadParts {
  keys: Keys
  keepFresh: KeepFresh
}

const NOTHING = Buffer.alloc(0)
/** Another writer of the same id may come between a look and a write. */
const MAX_REPLACEMENTS = 5

export async function putObject(
  parts: WholeParts,
  id: string,
  source: AsyncIterable<Uint8Array>,
  options: PutOptions & { createdAt: number },
): Promise<ObjectInfo> {
  const keys = parts.keys.place(id)
  const { mimeType, maxBytes, createdAt } = options
  const filename = options.filename === undefined ? undefined : shortFilename(options.filename)
  const write = randomUUID()
  // Earlier attachments of the same call are already stored and must not look like leftovers.
  const endKeeping = parts.keepFresh(keys.owner)
  try {
    const wish = { maxBytes, key: keys.data(write), headers: contentType(mimeType) }
    return await upload(parts, source, wish, async ({ bytes, sha256, body }) => {
      const info = { bytes, sha256, mimeType, ...(filename !== undefined && { filename }), createdAt }
      const facts: WholeFacts = { ...info, write, ...(!body && { apart: true }) }
      await publish(parts.bucket, keys.object, body ?? NOTHING, body ? sha256 : EMPTY_HASH, facts)
      return { id, ...info }
    })
  } finally {
    endKeeping()
  }
}

/** A second object with the same id replaces the first. */
async function publish(bucket: Bucket, key: string, body: Buffer, bodyHash: string, facts: WholeFacts): Promise<void> {
  const headers = { ...contentType(facts.mimeType), ...encodeFacts(facts) }
  let condition: Headers = { 'if-none-match': '*' }
  for (let tries = 0; tries < MAX_REPLACEMENTS; tries++) {
    const written = await bucket.put(key, body, bodyHash, { ...headers, ...condition })
    if (written === 'written') return
    const there = await bucket.head(key)
    // The response to an earlier try of this request was lost.
    if (there && decodeFacts<WholeFacts>(there).write === facts.write) return
    condition = there ? { 'if-match': there.etag } : { 'if-none-match': '*' }
  }
  throw unreachable(new Error(`Other writers replaced the object ${MAX_REPLACEMENTS} times while it was written.`))
}

export async function objectFacts(bucket: Bucket, keys: Keys, id: string): Promise<WholeFacts | undefined> {
  const place = keys.find(id)
  const there = place && (await bucket.head(place.object))
  return there && decodeFacts<WholeFacts>(there)
}

export async function objectInfo(bucket: Bucket, keys: Keys, id: string): Promise<ObjectInfo | undefined> {
  const facts = await objectFacts(bucket, keys, id)
  if (!facts) return undefined
  const { bytes, sha256, mimeType, filename, createdAt } = facts
  return { id, bytes, sha256, mimeType, ...(filename !== undefined && { filename }), createdAt }
}

/** An address of the bytes at S3 itself. A browser saves them: it must not show them as a page. */
export async function linkTo(bucket: Bucket, keys: Keys, id: string, forMs: number): Promise<string | undefined> {
  const place = keys.find(id)
  const facts = await objectFacts(bucket, keys, id)
  if (!place || !facts) return undefined
  const name = facts.filename === undefined ? '' : `; filename*=UTF-8''${encodeURIComponent(facts.filename)}`
  const query = {
    'response-content-type': contentType(facts.mimeType)['content-type'] ?? '',
    'response-content-disposition': `attachment${name}`,
    'response-cache-control': 'private, max-age=3600, immutable',
  }
  const key = facts.apart ? place.data(facts.write) : place.object
  return bucket.presign(key, query, Math.max(1, Math.floor(forMs / 1000)))
}
