/** OpenCALL's envelope of a snippet. */
import { encodeEnvelope, isKeyed } from '../wires/opencall.ts'
import { escapeUnseen, plainJson } from './quoting.ts'
import type { SnippetCall } from './snippet.ts'

/** On one line. An operation with effects gets the key, so that a repeat of the snippet does no harm. */
export function envelopeOf({ entry, argsText, idempotencyKey, files }: SnippetCall): string {
  const attachments = files.map(({ name, mimeType }) => ({ name, mimeType, base64: '' }))
  const envelope = encodeEnvelope({ entry, argsText: plainJson(argsText), requestId: '', idempotencyKey, attachments })
  // The server makes a request id for each request.
  const end = isKeyed(entry)
    ? `"ctx":{${JSON.stringify('idempotencyKey')}:${JSON.stringify(idempotencyKey)}}}`
    : undefined
  const head = envelope.slice(0, envelope.lastIndexOf(',"ctx":'))
  return escapeUnseen(end === undefined ? `${head}}` : `${head},${end}`)
}
