/** A chunk on the wire, as JSON or as raw bytes with the rest in headers. OpenCALL, "Chunk Data Encoding". */

import { isTextual } from '../../core/media.ts'
import type { Answer } from '../../core/ports/exchange.ts'
import { JSON_HEADERS } from './answers.ts'
import type { ChunkEnvelope } from './wire.ts'

/** A multiple of three, so that pieces of base64 join without padding in between. */
const PIECE_BYTES = 48 * 1024

/**
 * The data is spelled out piece by piece: text as large as a whole chunk is kept where the collector seldom looks, and
 * reading 1 GiB back then took 190 MB.
 */
export function jsonChunk(envelope: ChunkEnvelope, bytes: Uint8Array, base64: (bytes: Uint8Array) => string): Answer {
  const spell = isTextual(envelope.mimeType ?? '') ? createTextSpeller() : base64
  const head: ChunkEnvelope = { ...envelope, encoding: spell === base64 ? 'base64' : 'utf8' }
  return { status: 200, headers: JSON_HEADERS, body: withData(JSON.stringify(head), bytes, spell) }
}

async function* withData(head: string, bytes: Uint8Array, spell: (piece: Uint8Array) => string): AsyncIterable<string> {
  yield `${head.slice(0, -1)},"data":"`
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield spell(bytes.subarray(at, at + PIECE_BYTES))
  yield '"}'
}

/** A byte order mark stays: checksums are over what was written. */
function createTextSpeller(): (piece: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (piece) => JSON.stringify(decoder.decode(piece, { stream: true })).slice(1, -1)
}

/** The same as one value, for messages, which leave as a whole. */
export function chunkWithData(
  envelope: ChunkEnvelope,
  bytes: Uint8Array,
  base64: (bytes: Uint8Array) => string,
): ChunkEnvelope {
  if (!isTextual(envelope.mimeType ?? '')) return { ...envelope, encoding: 'base64', data: base64(bytes) }
  return { ...envelope, encoding: 'utf8', data: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) }
}

export function binaryChunk(envelope: ChunkEnvelope, bytes: Uint8Array): Answer {
  const { requestId, sessionId, state, mimeType, cursor, chunk, total } = envelope
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'no-store',
      'Call-Request-Id': requestId,
      ...(sessionId !== undefined && { 'Call-Session-Id': encodeURIComponent(sessionId) }),
      'Call-State': state,
      ...(mimeType !== undefined && { 'Call-Mime-Type': mimeType }),
      ...(cursor !== null && { 'Call-Cursor': cursor }),
      'Call-Chunk-Offset': String(chunk?.offset),
      'Call-Chunk-Length': String(chunk?.length),
      'Call-Chunk-Checksum': chunk?.checksum ?? '',
      ...(chunk?.checksumPrevious && { 'Call-Chunk-Checksum-Previous': chunk.checksumPrevious }),
      ...(total !== undefined && { 'Call-Total': String(total) }),
    },
    body: bytes,
  }
}
