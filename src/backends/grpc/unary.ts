/** Sends one unary call: one message out, one message and a status back. */
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { Fault } from '../../core/fault.ts'
import { createFrameReader, encodeFrame } from '../../wire/grpc/framing.ts'
import { decodeGrpcMessage, type GrpcCode, parseGrpcCode } from '../../wire/grpc/headers.ts'
import { codeOfHttp } from './statuses.ts'

export interface UnaryRequest {
  path: string
  headers: Readonly<Record<string, string>>
  text: string
  /** Maximum size of the response message. */
  maxBytes: number
  signal: AbortSignal
}

export interface UnaryAnswer {
  code: GrpcCode
  /** The status message, for people. */
  said: string
  retryAfterMs?: number
  text?: string
}

/** RST_STREAM with CANCEL tells the tool that the caller no longer waits. */
const CANCEL = 8

export function sendUnary(session: ClientHttp2Session, request: UnaryRequest): Promise<UnaryAnswer> {
  const { path, headers, text, maxBytes, signal } = request
  const outgoing: OutgoingHttpHeaders = {
    ...headers,
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc+json',
    te: 'trailers',
  }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stream = session.request(outgoing)
    const reader = createFrameReader(maxBytes, () => tooLarge(maxBytes))
    let head: IncomingHttpHeaders = {}
    let trailers: IncomingHttpHeaders = {}
    const giveUp = (why: unknown) => {
      reject(why)
      stream.close(CANCEL)
    }
    const stop = () => giveUp(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    stream.on('response', (received) => {
      head = received
    })
    stream.on('trailers', (received) => {
      trailers = received
    })
    stream.on('data', (bytes: Uint8Array) => {
      // A response that is not gRPC has no frames.
      if (!speaksGrpc(head)) return
      try {
        reader.push(bytes)
      } catch (thrown) {
        giveUp(badFrame(thrown))
      }
    })
    stream.on('error', (cause) => reject(brokeOff(cause)))
    stream.on('close', () => {
      signal.removeEventListener('abort', stop)
      try {
        resolve(answerIn(head, trailers, () => reader.finish()))
      } catch (thrown) {
        reject(badFrame(thrown))
      }
    })
    stream.end(encodeFrame(text))
  })
}

function answerIn(
  head: IncomingHttpHeaders,
  trailers: IncomingHttpHeaders,
  finish: () => string | undefined,
): UnaryAnswer {
  // "Trailers-Only": an error response carries its status in the headers.
  const last = trailers['grpc-status'] === undefined ? head : trailers
  const status = single(last['grpc-status'])
  const http = Number(head[':status'])
  if (status === undefined) {
    if (!head[':status']) throw brokeOff()
    if (http === 200 && speaksGrpc(head)) throw brokeOff()
    return { code: codeOfHttp(http), said: `HTTP ${http}, not gRPC` }
  }
  const code = parseGrpcCode(status)
  const pushback = /^\d{1,9}$/.exec(single(last['grpc-retry-pushback-ms']) ?? '')?.[0]
  const text = code === 'OK' ? finish() : undefined
  return {
    code,
    said: decodeGrpcMessage(single(last['grpc-message']) ?? ''),
    ...(pushback !== undefined && { retryAfterMs: Number(pushback) }),
    ...(text !== undefined && { text }),
  }
}

function speaksGrpc(head: IncomingHttpHeaders): boolean {
  return (head['content-type'] ?? '').startsWith('application/grpc')
}

/** Invalid frames in a response are the tool's fault, not the caller's. */
function badFrame(thrown: unknown): Fault {
  const fault = Fault.from(thrown)
  if (fault.kind === 'upstream') return fault
  return new Fault('upstream', `The tool's response cannot be read. ${fault.message}`, {
    code: 'BAD_ANSWER',
    retryable: true,
    cause: thrown,
  })
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool's response is larger than ${maxBytes} bytes. Ask for less, or raise maxBytes.`,
    {
      code: 'ANSWER_TOO_LARGE',
      retryable: false,
      details: { limit_bytes: maxBytes },
    },
  )
}

function brokeOff(cause?: unknown): Fault {
  return new Fault('upstream', 'The connection closed before the tool responded. Try again later.', {
    retryable: true,
    cause,
  })
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
