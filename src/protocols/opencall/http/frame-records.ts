/** The frames of a stream as records, for readers of a QUIC stream. The last record is an envelope. docs/readings.md#r39. */
import { joinBytes } from '../../../core/bytes.ts'
import type { OpenStream } from '../../../core/ports/frames.ts'
import { encodeRecord } from '../../../wire/frames/records.ts'
import { encodeStreamEnd } from '../codec.ts'
import type { FrameFormat } from './frame-body.ts'

export function frameRecords({ requestId }: OpenStream): FrameFormat<Uint8Array> {
  return {
    frame: (frame) => encodeRecord('frame', frame),
    end: (fault) => encodeRecord('envelope', encodeStreamEnd(requestId, fault)),
    heartbeat: () => encodeRecord('heartbeat'),
    join: joinBytes,
  }
}
