/** Encodes a chunk as JSON, or as raw bytes with its fields in headers. OpenCALL, "Chunk Data Encoding". */

import { isTextual } from '../../../core/call/media.ts'
import type { Answer } from '../../../core/ports/exchange.ts'
import type { ChunkEnvelope } from '../wire.ts'
import { JSON_HEADERS } from './answers.ts'

/** A multiple of three, so that base64 pieces need no padding between them. */
const PIECE_BYTES = 48 * 1024

/**
 * Encodes the data in pieces. The garbage collector seldom frees strings as large as a whole chunk: with them, reading
 * 1 GiB took 190 MB of memory.
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

/** Keeps a byte order mark, because the checksum includes it. */
function createTextSpeller(): (piece: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return (piece) => JSON.stringify(decoder.decode(piece, { stream: true })).slice(1, -1)
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
