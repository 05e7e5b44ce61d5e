/** Results that are bytes: in chunks, or at an address of their own. */
import type { Calling, Ended } from '../calling.ts'
import { CallFault, type MayFault } from '../fault.ts'
import type { ResultLocation } from '../options.ts'
import type { Fetcher } from '../transport.ts'
import { readChunks } from './chunks.ts'
import { readRanges } from './ranges.ts'

/** Bytes that can be read again as long as the server keeps them. */
export interface Download<Value = unknown> {
  readonly mimeType: string
  /** What the operation returned beside the bytes. */
  readonly value: Value
  /** The bytes as they arrive. Each chunk is verified before it is passed on, and a lost connection is resumed. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>
  blob(): Promise<Blob>
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  text(): Promise<string>
}

/** A call whose result can be read as bytes at once: `await api.orders.export({ rows }).blob()`. */
export interface DownloadableCall<Result, Code extends string = string> extends Promise<Result>, MayFault<Code> {
  blob(): Promise<Blob>
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  text(): Promise<string>
  stream(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>
}

type Pieces = () => AsyncGenerator<Uint8Array<ArrayBuffer>>

class ReadableDownload implements Download {
  readonly mimeType: string
  readonly value: unknown
  readonly #pieces: Pieces

  constructor(mimeType: string, value: unknown, pieces: Pieces) {
    this.mimeType = mimeType
    this.value = value
    this.#pieces = pieces
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const pieces = this.#pieces()
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await pieces.return(undefined)
      },
    })
  }

  async blob(): Promise<Blob> {
    const parts: Uint8Array<ArrayBuffer>[] = []
    for await (const piece of this.#pieces()) parts.push(piece)
    return new Blob(parts, { type: this.mimeType })
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.blob()).arrayBuffer())
  }

  async text(): Promise<string> {
    return (await this.blob()).text()
  }
}

/** The end of a call as bytes, whichever form its result has. */
export async function downloadOf(
  { envelope }: Ended,
  calling: Calling,
  signal: AbortSignal | undefined,
): Promise<Download> {
  if (!envelope.location) {
    const text = typeof envelope.result === 'string' ? envelope.result : JSON.stringify(envelope.result)
    const type = typeof envelope.result === 'string' ? 'text/plain' : 'application/json'
    return new ReadableDownload(type, envelope.result, async function* () {
      yield new TextEncoder().encode(text)
    })
  }
  const { location } = envelope
  const fetcher = fetcherOf(calling)
  if (isChunked(location))
    return new ReadableDownload(location.mimeType ?? 'application/octet-stream', location.value, () =>
      readChunks(calling, fetcher, location.uri, signal),
    )
  const { mimeType, pieces } = await readRanges(calling, fetcher, location, signal)
  return new ReadableDownload(mimeType, undefined, pieces)
}

/** What a caller gets who waits for the result: JSON as a value, other bytes as a download. */
export async function resultOf(ended: Ended, calling: Calling, signal: AbortSignal | undefined): Promise<unknown> {
  if ('result' in ended.envelope) return ended.envelope.result
  if (!ended.envelope.location)
    throw new CallFault(
      'NOT_OPENCALL',
      'The server says that the call is complete, and sends neither a result nor its address.',
      { outcome: 'failed' },
    )
  const download = await downloadOf(ended, calling, signal)
  if (!/^application\/(?:[\w.+-]+\+)?json\b/.test(download.mimeType) || isChunked(ended.envelope.location))
    return download
  const text = await download.text()
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CallFault('RESULT_UNREADABLE', 'The result is not the JSON that its type announces.', {
      outcome: 'failed',
      cause,
    })
  }
}

/** Our servers name the type of the bytes with the address of the chunks. Others have only the address. */
function isChunked(location: ResultLocation | undefined): boolean {
  return location !== undefined && (location.mimeType !== undefined || /\/ops\/[^/]+\/chunks$/.test(location.uri))
}

export function fetcherOf({ transport }: Calling): Fetcher {
  if (transport.fetcher) return transport.fetcher
  throw new CallFault(
    'RESULT_UNREADABLE',
    'The result is at an address, which this transport cannot fetch. Give the client a "url".',
    { outcome: 'failed' },
  )
}
