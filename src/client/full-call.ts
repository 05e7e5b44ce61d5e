/** A call of the full client: its result can be a download, and its frames can be looped over. */
import { type Download, type DownloadableCall, downloadOf } from './downloads/download.ts'
import { PendingCall } from './pending-call.ts'

export class FullCall<Result> extends PendingCall<Result> implements DownloadableCall<Result> {
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

  #read<T>(read: (download: Download) => Promise<T>): Promise<T> {
    return this.end(async (ended, signal) => read(await downloadOf(ended, this.calling, signal)))
  }
}
