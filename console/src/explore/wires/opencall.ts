/** OpenCALL: the server's own protocol. It carries everything. */
import type { Envelope } from '../../../../src/client/options.ts'
import { sliceOf } from './json-slice.ts'
import type { Failure, Outcome, StreamPlace, Wire, WireCall, WireResponse } from './wire.ts'

export const opencall: Wire = {
  id: 'opencall',
  title: 'OpenCALL',
  refusal: () => undefined,
  encode: (call) => ({
    method: 'POST',
    path: 'call',
    headers: { 'Content-Type': 'application/json' },
    body: encodeEnvelope(call),
  }),
  decode: ({ text, status }) => decodeEnvelope(text, status),
}

export function encodeEnvelope({ entry, argsText, requestId, idempotencyKey, attachments = [] }: WireCall): string {
  const ctx = { requestId, ...(isKeyed(entry) && { idempotencyKey }) }
  // A file goes into a part of its own; here are only addresses.
  const media = attachments.map((file) =>
    'ref' in file
      ? { name: file.name, mimeType: file.mimeType, ref: file.ref }
      : { name: file.name, mimeType: file.mimeType, part: file.name },
  )
  const files = media.length === 0 ? '' : `,"media":${JSON.stringify(media)}`
  return `{"op":${JSON.stringify(entry.op)},"args":${argsText}${files},"ctx":${JSON.stringify(ctx)}}`
}

/** Without effects a repeat does no harm, and the call needs no key. */
export function isKeyed({ sideEffecting, idempotencyRequired }: WireCall['entry']): boolean {
  return sideEffecting === true || idempotencyRequired === true
}

/** Reads an envelope from `/call`, `/ops/{id}` or an event of `/ops/{id}/events`. */
export function decodeEnvelope(text: string, status: number): Outcome {
  const result = sliceOf(text, 'result')
  if (result !== undefined) return { kind: 'result', json: result }
  const envelope = parseEnvelope(text)
  if (!envelope) return unreadable({ status })
  const { state, error, location, stream, requestId, retryAfterMs = 0, progress } = envelope
  if (error) {
    const details = sliceOf(text, 'error', 'cause')
    return { kind: 'failure', code: error.code, message: error.message, ...(details !== undefined && { details }) }
  }
  if (stream) return { kind: 'stream', requestId, place: stream as StreamPlace }
  if (state === 'complete' && location) {
    const { uri, mimeType, auth } = location
    const json = sliceOf(text, 'location', 'value')
    return {
      kind: 'file',
      uri,
      ...(mimeType !== undefined && { mimeType }),
      ...(auth && { auth: auth.credential }),
      ...(json !== undefined && { json }),
    }
  }
  const next = { method: 'GET' as const, path: `ops/${encodeURIComponent(requestId)}`, headers: { Prefer: 'wait=25' } }
  return { kind: 'running', requestId, retryAfterMs, next, ...(progress && { progress }) }
}

function parseEnvelope(text: string): Envelope | undefined {
  try {
    const value = JSON.parse(text) as Envelope | null
    return typeof value === 'object' && value !== null && typeof value.state === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** A response that is not of the wire, such as a proxy's page. */
export function unreadable({ status }: Pick<WireResponse, 'status'>): Failure {
  return { kind: 'failure', message: `HTTP ${status}` }
}
