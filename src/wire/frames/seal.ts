/** Reads the integrity header before a frame. docs/readings.md#r32. */
import { Fault } from '../../core/fault.ts'

/** The sequence number, eight bytes, and the number of the algorithm, one byte. */
const FIXED_BYTES = 9
/** The length of the checksum, by the number of its algorithm: CRC-32 and SHA-256. */
const CHECKSUM_BYTES: Readonly<Record<number, number>> = { 1: 4, 2: 32 }

export interface SealedFrame {
  seq: number
  checksum: Uint8Array
  payload: Uint8Array
}

/** Does not compare the checksum. */
export function openSeal(frame: Uint8Array): SealedFrame {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength)
  const checksumBytes = frame.byteLength >= FIXED_BYTES ? CHECKSUM_BYTES[view.getUint8(8)] : undefined
  if (checksumBytes === undefined || frame.byteLength < FIXED_BYTES + checksumBytes) {
    throw new Fault('malformed', 'The frame has no valid integrity header.', { code: 'INVALID_FRAME' })
  }
  return {
    seq: Number(view.getBigUint64(0)),
    checksum: frame.subarray(FIXED_BYTES, FIXED_BYTES + checksumBytes),
    payload: frame.subarray(FIXED_BYTES + checksumBytes),
  }
}
