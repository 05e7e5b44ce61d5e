/** Results that are bytes: chunked ones, and those at an address. */
import type { Call } from '../types.ts'

/** Bytes that can be read once or again, and resumed. */
export interface Download<Value = unknown> {
  readonly mimeType: string
  /** What the operation returned beside the bytes. */
  readonly value: Value
  /** The bytes as they arrive, each chunk verified before it is passed on. */
  stream(): ReadableStream<Uint8Array>
  blob(): Promise<Blob>
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
}

/** A call whose result can be read as bytes at once: `await api.orders.export({ rows }).blob()`. */
export interface DownloadableCall<Result, Code extends string = string> extends Call<Result, Code> {
  blob(): Promise<Blob>
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
  stream(): Promise<ReadableStream<Uint8Array>>
}
