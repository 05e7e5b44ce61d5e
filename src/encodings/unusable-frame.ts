/** The faults of frames that an encoding cannot write. They end the stream. */
import { Fault } from '../core/fault.ts'

export function unusableFrame(message: string, cause?: unknown): Fault {
  return new Fault('internal', message, { code: 'INVALID_FRAME', ...(cause !== undefined && { cause }) })
}

/** Bytes have no schema, so that only the encoding `binary` may carry them. */
export function refuseBytes(frame: unknown, encoding: string): void {
  if (frame instanceof Uint8Array)
    throw unusableFrame(`A frame of bytes cannot be sent as ${encoding}. Offer the encoding binary alone.`)
}
