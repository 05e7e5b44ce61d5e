/** Shared by the stories of the object suite: their type, sample bytes, and functions to inspect them. */
import { createHash } from 'node:crypto'
import type { ChunkOptions, ObjectStore } from '../../../core/ports/objects.ts'

export type ObjectStory = (title: string, body: (objects: ObjectStore) => Promise<void>) => void

export const BINARY: ChunkOptions = { mimeType: 'application/octet-stream', chunkBytes: 4, text: false }

export async function write(objects: ObjectStore, id: string, options: ChunkOptions, ...parts: string[]) {
  const writer = await objects.writeChunks(id, options)
  for (const part of parts) await writer.write(bytes(part))
  return writer.finish()
}

export function bytes(content: string): Uint8Array {
  return new TextEncoder().encode(content)
}

export function text(content: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
}

export async function* pieces(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield bytes(part)
}

export async function* failing(error: Error, ...parts: string[]): AsyncGenerator<Uint8Array> {
  yield* pieces(...parts)
  throw error
}

export async function collect(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(source))
}

export async function list(source: AsyncIterable<string>): Promise<string[]> {
  return (await Array.fromAsync(source)).sort()
}

export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
