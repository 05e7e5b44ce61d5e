/** The integrity header before a frame: docs/readings.md#r32. */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { FrameBytes, FrameIntegrity, FrameWriter } from '../core/operation/stream.ts'

/** The sequence number, eight bytes, and the number of the algorithm, one byte. */
const FIXED_BYTES = 9
const CHECKSUMS: Record<FrameIntegrity, { number: number; bytes: number }> = {
  crc32: { number: 1, bytes: 4 },
  sha256: { number: 2, bytes: 32 },
}

export function sealer(integrity: FrameIntegrity): NonNullable<FrameWriter['seal']> {
  const { number, bytes } = CHECKSUMS[integrity]
  const headBytes = FIXED_BYTES + bytes
  return (seq, payload) => {
    const size = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength
    const frame = Buffer.allocUnsafe(headBytes + size)
    writePayload(frame, payload, headBytes)
    const body = frame.subarray(headBytes)
    frame.writeUInt32BE(Math.floor(seq / 2 ** 32), 0)
    frame.writeUInt32BE(seq >>> 0, 4)
    frame.writeUInt8(number, 8)
    if (integrity === 'crc32') frame.writeUInt32BE(crc32(body), FIXED_BYTES)
    else hash('sha256', body, 'buffer').copy(frame, FIXED_BYTES)
    return frame
  }
}

function writePayload(frame: Buffer, payload: FrameBytes, at: number): void {
  if (typeof payload === 'string') frame.write(payload, at, 'utf8')
  else frame.set(payload, at)
}
