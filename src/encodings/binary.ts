/** Frames that are bytes already. */
import { unusableFrame } from './unusable-frame.ts'

export function encodeBinary(frame: unknown): Uint8Array {
  if (frame instanceof Uint8Array) return frame
  throw unusableFrame('A frame of the encoding binary must be a Uint8Array. Fix the handler.')
}
