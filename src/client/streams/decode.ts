/** Frames from their bytes: JSON or plain bytes, and the integrity header before them. docs/readings.md#r32. */

import { sha256 } from '../downloads/checksum.ts'
import { CallFault } from '../fault.ts'
import { hex } from '../ids.ts'
import type { StreamPlace } from '../options.ts'
import type { RawFrame } from './reader.ts'

export interface Frame {
  readonly value: unknown
  readonly seq: number | undefined
}

/** The sequence number, eight bytes, and the number of the algorithm, one byte. */
const FIXED_BYTES = 9
const CRC32 = 1

/** Throws `DAMAGED_FRAME` if the checksum or the encoding is wrong. */
export async function decodeFrame({ data, seq }: RawFrame, { encoding, integrity }: StreamPlace): Promise<Frame> {
  if (typeof data === 'string') return { value: parse(data), seq }
  const opened = integrity && seq === undefined ? await openSeal(data) : { seq, payload: data }
  if (encoding !== 'json') return { value: opened.payload, seq: opened.seq }
  return { value: parse(new TextDecoder().decode(opened.payload)), seq: opened.seq }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw damaged('is not JSON')
  }
}

async function openSeal(frame: Uint8Array<ArrayBuffer>): Promise<{ seq: number; payload: Uint8Array<ArrayBuffer> }> {
  if (frame.length < FIXED_BYTES) throw damaged('has no integrity header')
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  const isCrc = view.getUint8(8) === CRC32
  const start = FIXED_BYTES + (isCrc ? 4 : 32)
  const payload = frame.slice(start)
  const sum = isCrc ? crc32(payload) : await sha256(payload)
  const sent = isCrc ? view.getUint32(FIXED_BYTES) : `sha256:${hex(frame.subarray(FIXED_BYTES, start))}`
  if (sum !== sent) throw damaged('has a wrong checksum')
  return { seq: Number(view.getBigUint64(0)), payload }
}

/** Bit by bit: frames are small, and a table would make the client larger. */
function crc32(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

function damaged(problem: string): CallFault {
  return new CallFault('DAMAGED_FRAME', `A frame of the stream ${problem}.`, { outcome: 'failed' })
}
