/** Clients of the QUIC library for tests: requests over HTTP/3 with Fetch's types, and raw streams. */
import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'
import { createCertificate, type TestCertificate } from '../../fixtures/tls.ts'

export interface ClientStream extends Duplex {
  readonly id: number
  close(code?: number): void
}

/** A field with a list is sent several times. */
type Fields = Record<string, string | string[]>

interface Http3Client extends EventEmitter {
  request(headers: Fields, options?: { endStream?: boolean }): ClientStream
  close(): Promise<void>
}

export interface RawClient extends EventEmitter {
  openStream(): ClientStream
  close(): Promise<void>
}

interface ClientLibrary {
  connectAsync(url: string, options: { ca: string; servername: string }): Promise<Http3Client>
  connectQuicAsync(
    address: string,
    options: { ca: string; servername: string; alpn: string[]; connectTimeoutMs?: number },
  ): Promise<RawClient>
}

export function clientLibrary(): ClientLibrary {
  return createRequire(import.meta.url)('@currentspace/http3')
}

/** One for a test file: making one takes a process. */
let made: TestCertificate | undefined

export function certificate(): TestCertificate {
  made ??= createCertificate()
  return made
}

export interface Http3Connection {
  send(path: string, init?: RequestInit): Promise<Response>
  /** Opens a request whose body the test writes itself. */
  open(path: string, headers: Fields, hasBody?: boolean): ClientStream
  close(): Promise<void>
}

export async function connectHttp3(port: number, ca = certificate().cert): Promise<Http3Connection> {
  const authority = `127.0.0.1:${port}`
  const client = await clientLibrary().connectAsync(`https://${authority}`, { ca, servername: 'localhost' })
  client.on('error', () => undefined)
  const open = (path: string, headers: Fields, hasBody = true) => {
    const pseudo = { ':method': 'GET', ':scheme': 'https', ':authority': authority, ':path': path }
    const stream = client.request({ ...pseudo, ...headers }, { endStream: !hasBody })
    stream.on('error', () => undefined)
    return stream
  }
  return {
    open,
    close: () => client.close(),
    async send(path, init = {}) {
      // Fetch's own classes encode the body and name its type.
      const request = new Request(`https://${authority}`, { ...init, ...(init.body ? { duplex: 'half' } : {}) })
      const body = request.body && new Uint8Array(await request.arrayBuffer())
      const length: Record<string, string> =
        body && !(init.body instanceof ReadableStream) ? { 'content-length': String(body.length) } : {}
      const headers = { ':method': request.method, ...Object.fromEntries(request.headers), ...length, ...origin(init) }
      const stream = open(path, headers, body !== null)
      const response = responseOf(stream, request.method)
      if (body) stream.end(Buffer.from(body))
      return response
    },
  }
}

/** `Request` removes headers that only a browser may set. */
function origin({ headers }: RequestInit): Record<string, string> {
  const given = Object.entries((headers ?? {}) as Record<string, string>)
  return Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]))
}

function responseOf(stream: ClientStream, method: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        stream.on('data', (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)))
        stream.once('end', () => controller.close())
        stream.once('error', (error) => controller.error(error))
      },
      cancel: () => stream.close(0x10c),
    })
    stream.once('error', reject)
    stream.once('response', (fields: Record<string, string | string[]>) => {
      const headers = new Headers()
      for (const [name, value] of Object.entries(fields)) {
        if (!name.startsWith(':')) for (const each of [value].flat()) headers.append(name, each)
      }
      const status = Number(fields[':status'])
      const bodiless = status === 204 || status === 304 || method === 'HEAD'
      resolve(new Response(bodiless ? null : chunks, { status, headers }))
    })
  })
}

export async function connectRaw(port: number, alpn = ['callplane/1'], ca = certificate().cert): Promise<RawClient> {
  const client = await clientLibrary().connectQuicAsync(`127.0.0.1:${port}`, { ca, servername: 'localhost', alpn })
  client.on('error', () => undefined)
  return client
}
