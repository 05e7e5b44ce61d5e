/** Reads the envelope of a response. Unknown fields are ignored, and wrong types are a fault. */
import { CallFault } from '../fault.ts'
import type { Envelope } from '../options.ts'
import { bytesOf } from './body.ts'
import { lost } from './requests.ts'

export async function readEnvelope(
  response: Response,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<Envelope> {
  const text = await readText(response, maxBytes, signal)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw notOpenCall(response, cause)
  }
  if (!isEnvelope(value)) throw notOpenCall(response)
  return value
}

export function isEnvelope(value: unknown): value is Envelope {
  if (!isRecord(value) || typeof value.state !== 'string' || typeof value.requestId !== 'string') return false
  const { error, location, stream, retryAfterMs, expiresAt } = value
  return (
    (error === undefined || (isRecord(error) && typeof error.code === 'string')) &&
    (location === undefined || (isRecord(location) && typeof location.uri === 'string')) &&
    (stream === undefined || (isRecord(stream) && typeof stream.location === 'string')) &&
    isNumberIfAny(retryAfterMs) &&
    isNumberIfAny(expiresAt)
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNumberIfAny(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'number'
}

/** A response without a length is counted while it is read. */
export async function readText(response: Response, maxBytes: number, signal: AbortSignal | undefined): Promise<string> {
  const announced = response.headers.get('content-length')
  try {
    if (announced === null) return await readCounted(response, maxBytes, signal)
    if (Number(announced) <= maxBytes) return await response.text()
    throw await tooLarge(response, maxBytes)
  } catch (thrown) {
    throw lost(thrown, signal, response.url)
  }
}

async function readCounted(response: Response, maxBytes: number, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const piece of bytesOf(response, signal)) {
    bytes += piece.byteLength
    if (bytes > maxBytes) throw await tooLarge(response, maxBytes)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

async function tooLarge(response: Response, maxBytes: number): Promise<CallFault> {
  if (!response.bodyUsed) await response.body?.cancel()
  return new CallFault('RESPONSE_TOO_LARGE', `The response is larger than ${maxBytes} bytes ("maxResponseBytes").`)
}

function notOpenCall({ status, headers }: Response, cause?: unknown): CallFault {
  const type = headers.get('content-type')
  const message = `The server responded with ${status} and ${type}, not an OpenCALL envelope. Check the address.`
  return new CallFault('NOT_OPENCALL', message, { status, cause })
}
