/** A server with HTTPS, HTTP/3 and raw QUIC on free ports, and the QUIC clients of Python. */
import { createToken, type ServerOptions } from 'callplane'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { createMemoryLog, type LogLine } from '../../../src/testing/fakes/memory-log.ts'
import { encodeRecord, RecordDecoder } from '../../../src/wire/frames/records.ts'
import { python } from '../../engines/python.ts'
import { startSite } from '../../scenarios/server.ts'
import { certificate } from './client.ts'
import type { ReadRecord } from './records.ts'

export interface QuicSite {
  readonly lines: readonly LogLine[]
  readonly url: string
  readonly port: number
  readonly rawPort: number
  close(graceMs?: number): Promise<void>
}

export async function startQuicSite<App>(options: ServerOptions<App>): Promise<QuicSite> {
  const { cert, key } = certificate()
  const lines: LogLine[] = []
  const quic = { port: 0, rawPort: 0, ...options.quic }
  const site = await startSite<App>({ ...options, tls: { cert, key }, quic, log: createMemoryLog(lines) })
  const portOf = (message: string) => Number(lines.find((line) => line.message === message)?.fields.port)
  return {
    lines,
    url: site.url,
    port: portOf('serving HTTP/3'),
    rawPort: portOf('serving raw QUIC streams'),
    close: site.close,
  }
}

/** A token for all operations, and the option that admits it. Addresses besides loopback need one. */
export function protection() {
  const { token, hash } = createToken()
  return { token, auth: { tokens: [{ hash, kind: 'bearer' as const, subject: 'ada', scopes: ['*'] }] } }
}

export interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Http3Reply {
  stream: number
  status: number
  headers: Record<string, string>
  body: Buffer
  reset: number | null
}

/** Sends requests together on one connection of aioquic. */
export async function http3Requests(port: number, asked: readonly Asked[], signal: AbortSignal): Promise<Http3Reply[]> {
  const args = [String(port), certificate().certFile, JSON.stringify(asked)]
  const replies = JSON.parse(await python('test/carriers/quic/http3_requests.py', args, signal))
  return replies.map((reply: { body: string }) => ({ ...reply, body: Buffer.from(reply.body, 'base64') }))
}

/** `POST /call` as a request of `http3Requests`. */
export function calling(op: string, args: object = {}, ctx: object = {}): Asked {
  const body = JSON.stringify({ op, args, ctx })
  return { method: 'POST', path: '/call', headers: { 'content-type': 'application/json' }, body }
}

export function envelopeIn({ body }: Pick<Http3Reply, 'body'>): ResponseEnvelope {
  return JSON.parse(body.toString())
}

export interface RawReply {
  stream: number
  records: ReadRecord[]
  reset: number | null
}

/** Writes each text to a stream of its own, as one record, on one connection of aioquic. Bytes are written as they are. */
export async function rawStreams(
  rawPort: number,
  contents: readonly (string | Uint8Array)[],
  theirs: number,
  signal: AbortSignal,
): Promise<{ alpn: string; streams: RawReply[] }> {
  const ours = contents.map((content) =>
    Buffer.from(typeof content === 'string' ? encodeRecord('envelope', content) : content).toString('base64'),
  )
  const args = [String(rawPort), certificate().certFile, String(theirs), JSON.stringify(ours)]
  const printed = JSON.parse(await python('test/carriers/quic/raw_streams.py', args, signal))
  const streams = printed.streams.map((stream: RawReply & { bytes: string }) => ({
    ...stream,
    records: recordsIn(Buffer.from(stream.bytes, 'base64')),
  }))
  return { alpn: printed.alpn, streams }
}

export function recordsIn(bytes: Uint8Array): ReadRecord[] {
  return [...new RecordDecoder(2 ** 30).push(bytes)].filter((record): record is ReadRecord => 'content' in record)
}

export function textOf({ content }: ReadRecord): string {
  return new TextDecoder().decode(content)
}
