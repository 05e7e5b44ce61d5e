/** Frames as JSON text. */
import { refuseBytes, unusableFrame } from './unusable-frame.ts'

export function encodeJson(frame: unknown): string {
  refuseBytes(frame, 'json')
  const text = JSON.stringify(frame)
  if (text !== undefined) return text
  throw unusableFrame('A frame has no value. Yield a value that matches the frame schema.')
}
