/**
 * Reads an object as fast as its consumer does. A connection that breaks is replaced, and the rest is read from where it
 * broke. A whole object is checked against its SHA-256 before its last piece is handed out, so that a damaged one is
 * never complete.
 */
import { createHash } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import { damaged, noSuchObject } from '../../platform/objects/ids.ts'
import type { Bucket, Headers } from './bucket.ts'
import { decodeFacts, type WholeFacts } from './facts.ts'
import type { S3Stream } from './http/client.ts'
import { unreachable } from './http/problems.ts'
import type { Keys } from './keys.ts'
import { objectFacts } from './whole.ts'

export interface Range {
  start: number
  end: number
}

/** Connections that broke without a further byte in between. The client repeats requests itself, too. */
const MAX_BREAKS = 3

export async function* readObject(
  bucket: Bucket,
  keys: Keys,
  id: string,
  range?: Range,
): AsyncGenerator<Uint8Array, void, void> {
  const place = keys.find(id)
  if (!place) throw noSuchObject()
  const opened = await openWhole(bucket, place.object, range)
  const facts = opened ? decodeFacts<WholeFacts>(opened) : await objectFacts(bucket, keys, id)
  if (!facts) throw noSuchObject()
  const start = Math.max(range?.start ?? 0, 0)
  const end = Math.min(range?.end ?? facts.bytes, facts.bytes)
  if (opened && (facts.apart || start >= end)) await drain(opened)
  if (start >= end) return
  const key = facts.apart ? place.data(facts.write) : place.object
  const pieces = piecesOf(bucket, key, { start, end }, facts.apart ? undefined : opened)
  yield* start === 0 && end === facts.bytes ? checked(pieces, facts.sha256) : pieces
}

/** Asks for the bytes at once: most objects are not in parts. `undefined` if the range has none. */
async function openWhole(bucket: Bucket, key: string, range: Range | undefined): Promise<S3Stream | undefined> {
  if (range && range.start >= range.end) return undefined
  const stream = await bucket.open(key, range ? rangeHeader(range) : {})
  if (stream.status === 404) throw noSuchObject()
  return stream.status === 416 ? undefined : stream
}

async function* piecesOf(
  bucket: Bucket,
  key: string,
  { start, end }: Range,
  opened: S3Stream | undefined,
): AsyncGenerator<Uint8Array, void, void> {
  let at = start
  let breaks = 0
  let etag: string | undefined
  let stream = opened
  while (at < end) {
    stream ??= await bucket.open(key, { ...rangeHeader({ start: at, end }), ...(etag && { 'if-match': etag }) })
    // Removed or replaced meanwhile, so the rest is not of the same object.
    if (stream.status >= 300) throw noSuchObject()
    if (at > 0 && stream.status !== 206) throw unreachable(new Error('S3 sent a whole object instead of its range.'))
    etag = stream.headers.etag
    try {
      for await (const piece of stream.bytes) {
        breaks = 0
        at += piece.length
        if (at > end) throw damaged()
        yield piece
      }
      if (at < end) throw new Error('S3 ended a response too early')
    } catch (thrown) {
      if (thrown instanceof Fault) throw thrown
      if (++breaks > MAX_BREAKS) throw unreachable(thrown)
      stream = undefined
    }
  }
}

/** Holds the last piece back until the checksum is right. */
async function* checked(pieces: AsyncIterable<Uint8Array>, sha256: string): AsyncGenerator<Uint8Array, void, void> {
  const digest = createHash('sha256')
  let held: Uint8Array | undefined
  for await (const piece of pieces) {
    digest.update(piece)
    if (held) yield held
    held = piece
  }
  if (digest.digest('hex') !== sha256) throw damaged(new Error('The bytes that S3 sent do not have their checksum.'))
  if (held) yield held
}

async function drain({ bytes }: S3Stream): Promise<void> {
  for await (const piece of bytes) if (piece.length > 0) return
}

function rangeHeader({ start, end }: Range): Headers {
  return { range: `bytes=${start}-${end - 1}` }
}
