/** What is known of an object, beside its bytes: in one metadata header, as JSON. */
import type { ObjectInfo } from '../../core/ports/objects.ts'
import type { ChunkFacts, Head } from '../../platform/objects/chunk-place.ts'
import { damaged } from '../../platform/objects/ids.ts'
import type { Found, Headers } from './bucket.ts'

export interface WholeFacts extends Omit<ObjectInfo, 'id'> {
  /** Unique to this write, so that a repeated request recognizes its own object. */
  write: string
  /** True if the bytes are an object of their own, because they were sent in parts. */
  apart?: true
}

export interface HeadFacts extends Head {
  /** Unique to this chain. */
  chain: string
}

export type Facts = WholeFacts | HeadFacts | ChunkFacts

const HEADER = 'x-amz-meta-callplane'

export function encodeFacts(facts: Facts): Headers {
  return { [HEADER]: Buffer.from(JSON.stringify(facts)).toString('base64url') }
}

export function decodeFacts<F extends Facts>({ headers }: Pick<Found, 'headers'>): F {
  try {
    return JSON.parse(Buffer.from(String(headers[HEADER] ?? ''), 'base64url').toString('utf8')) as F
  } catch (error) {
    throw damaged(error)
  }
}

/** S3 keeps 2 KB of metadata. The longest name then fits even if each character takes three bytes. */
const MAX_FILENAME = 255

export function shortFilename(filename: string): string {
  return filename.slice(0, MAX_FILENAME).toWellFormed()
}

/** In a header, and signed, so with single spaces. The facts have the type as it was. */
export function contentType(mimeType: string): Headers {
  return { 'content-type': mimeType.replace(/\s+/g, ' ').trim() }
}
