/**
 * Streams as tasks. The stream has no reader but its task: the handler starts with the call, and the end of the stream
 * is stored with the last frames, for any node. Frames before the end are on the node that runs the stream only.
 */

import { type Caller, ownerKey, ownerOf } from '../../../core/call/caller.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { ReadWish } from '../../../core/ports/calls.ts'
import type { NewStream, StreamTransport } from '../../../core/ports/frames.ts'
import { type FramesParts, TaskFrames } from './task-frames.ts'

/** As an operation names it in `stream.transports`. */
const NAME = 'mcp'
/** JSON is the only encoding that a model can read. Frames of the others are in base64. */
const ENCODINGS = ['json', 'binary', 'cbor', 'protobuf']

/** True if the operation is a stream that can be a tool. Audio and video have no frames of their own. */
export function isStreamTool({ stream, tool, internal }: Operation): boolean {
  return stream !== undefined && tool && !internal && !stream.track && (stream.transports?.includes(NAME) ?? true)
}

export class TaskStreams {
  readonly #parts: FramesParts
  readonly #running = new Map<string, TaskFrames>()
  readonly #transport: StreamTransport

  /** `other` is where a reader over another protocol finds the stream. It takes the place of the task. */
  constructor(parts: FramesParts, other: StreamTransport) {
    this.#parts = parts
    this.#transport = {
      name: NAME,
      place: async (stream) => ({
        transport: other.name,
        ...(await other.place(stream)),
        open: () => this.#open(stream),
      }),
    }
  }

  /** Every argument is for the operation. */
  readonly wish: ReadWish = (_operation, call, origin) => ({
    call,
    wish: { origin, own: this.#transport, encodings: ENCODINGS },
  })

  /** The frames of a stream of this caller. `undefined` if it does not run on this node. */
  of(caller: Caller, requestId: string): TaskFrames | undefined {
    return this.#running.get(keyOf(ownerKey(caller.tenant, ownerOf(caller)), requestId))
  }

  #open(stream: NewStream): TaskFrames {
    const key = keyOf(stream.owner, stream.requestId)
    const frames = new TaskFrames(stream, this.#parts, () => this.#running.delete(key))
    this.#running.set(key, frames)
    return frames
  }
}

function keyOf(owner: string, requestId: string): string {
  return `${requestId} ${owner}`
}
