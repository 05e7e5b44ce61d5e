/** Frames that are bytes already. */
import { Fault } from '../core/fault.ts'

export function encodeBinary(frame: unknown): Uint8Array {
  if (frame instanceof Uint8Array) return frame
  throw new Fault('internal', 'A frame of the encoding binary must be a Uint8Array. Fix the handler.', {
    code: 'INVALID_FRAME',
  })
}
