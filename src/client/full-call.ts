/** A call of the full client: its result can be a download, and its frames can be looped over. */
import { type Download, type DownloadableCall, downloadOf, fetcherOf } from './downloads/download.ts'
import { PendingCall } from './pending-call.ts'
import type { FrameStream } from './streams/frame-stream.ts'
import { Subscription } from './streams/subscription.ts'
import { waysOfThisRuntime } from './streams/ways.ts'

export class FullCall<Result> extends PendingCall<Result> implements DownloadableCall<Result>, FrameStream<unknown> {
  #frames: Subscription<unknown> | undefined

  blob(): Promise<Blob> {
    return this.#read((download) => download.blob())
  }

  bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#read((download) => download.bytes())
  }

  text(): Promise<string> {
    return this.#read((download) => download.text())
  }

  /** The deadline of the call ends when its bytes begin. */
  stream(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return this.end(async (ended) => (await downloadOf(ended, this.calling, this.options.signal)).stream())
  }

  [Symbol.asyncIterator](): AsyncGenerator<unknown, void> {
    this.claim()
    return this.#subscription[Symbol.asyncIterator]()
  }

  close(): void {
    this.claim()
    this.#subscription.close()
  }

  get #subscription(): Subscription<unknown> {
    this.#frames ??= new Subscription(
      this.calling,
      fetcherOf(this.calling),
      this.outgoing,
      this.options,
      this.calling.transport.ways ?? waysOfThisRuntime,
    )
    return this.#frames
  }

  #read<T>(read: (download: Download) => Promise<T>): Promise<T> {
    return this.end(async (ended, signal) => read(await downloadOf(ended, this.calling, signal)))
  }
}
