/** The last frames that were sent, for a reader that lost its connection. Bounded in number and in bytes. */
import type { FrameBytes } from '../../core/operation/stream.ts'

const MAX_FRAMES = 1_024
const MAX_BYTES = 1024 * 1024

/** A frame with its sequence number. Dropped frames leave gaps in the sequence. */
export interface NumberedFrame {
  seq: number
  bytes: FrameBytes
}

export class FrameWindow {
  #frames: NumberedFrame[] = []
  /** The number of frames at the start of the list that are no longer kept. */
  #gone = 0
  #bytes = 0

  add(frame: NumberedFrame): void {
    this.#frames.push(frame)
    this.#bytes += frame.bytes.length
    while (this.#frames.length - this.#gone > 1 && this.#isFull()) {
      this.#bytes -= (this.#frames[this.#gone++] as NumberedFrame).bytes.length
    }
    // Removing one frame at a time would copy the whole window each time.
    if (this.#gone > MAX_FRAMES) {
      this.#frames = this.#frames.slice(this.#gone)
      this.#gone = 0
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The kept frames after this sequence number. */
  after(seq: number): readonly NumberedFrame[] {
    return this.#frames.slice(this.#gone).filter((frame) => frame.seq > seq)
  }

  #isFull(): boolean {
    return this.#frames.length - this.#gone > MAX_FRAMES || this.#bytes > MAX_BYTES
  }
}
