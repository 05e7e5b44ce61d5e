/**
 * The frames of a stream as server-sent events, for readers without a WebSocket, such as curl. A frame that is not text
 * is in base64. A sealed frame is sent without its header: its number is the id of the event.
 */
import type { FrameBytes } from '../../../core/operation/stream.ts'
import type { OpenStream } from '../../../core/ports/frames.ts'
import { openSeal } from '../../../wire/frames/seal.ts'
import { encodeEvent, HEARTBEAT } from '../../../wire/http/event-stream.ts'
import { encodeFault } from '../faults.ts'
import type { FrameFormat } from './frame-body.ts'

export function frameEvents(
  { encoding, sealed }: OpenStream,
  base64: (bytes: Uint8Array) => string,
): FrameFormat<string> {
  function encodeFrame(frame: FrameBytes): string {
    if (typeof frame === 'string') return encodeEvent('frame', frame)
    const { seq, payload } = sealed ? openSeal(frame) : { seq: undefined, payload: frame }
    const data = encoding === 'json' ? new TextDecoder().decode(payload) : base64(payload)
    return (seq === undefined ? '' : `id: ${seq}\n`) + encodeEvent('frame', data)
  }
  return {
    frame: encodeFrame,
    end(fault) {
      const end = fault ? { state: 'error', error: encodeFault(fault) } : { state: 'complete' }
      return encodeEvent('end', JSON.stringify(end))
    },
    heartbeat: () => HEARTBEAT,
    join: (events) => events.join(''),
  }
}
