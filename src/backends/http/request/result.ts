/** Reads the response to a templated request: an API that knows nothing of the Tool Contract. */
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { BackendParts } from '../../../core/ports/backend.ts'
import type { RemoteAnswer } from '../../../core/ports/outbound.ts'
import { faultOfAnswer, isSuccess } from '../../../protocols/contract/client.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'

/** How much of a refusal a caller is shown. */
const MAX_REASON = 2_000

/** JSON becomes the value itself, also a list; other text a string; no content `null`. */
export function readAnswer(answer: RemoteAnswer, parts: Pick<BackendParts, 'clock'>): JsonValue {
  if (isSuccess(answer)) return valueIn(answer)
  const fault = faultOfAnswer(answer, parts)
  const { status, text } = answer
  // What the API says of a wrong argument is what the caller needs. Other refusals are for the operator.
  if (text === '' || status < 400 || status >= 500 || status === 429 || fault.kind !== 'upstream') throw fault
  const record = fault.toRecord()
  throw new Fault(fault.kind, fault.message, {
    ...record,
    details: { ...record.details, response: text.slice(0, MAX_REASON).toWellFormed() },
  })
}

function valueIn({ text, header }: RemoteAnswer): JsonValue {
  if (text.trim() === '') return null
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(header('content-type') ?? '')) return text
  try {
    return parseJsonText(text)
  } catch (cause) {
    throw new Fault(
      'upstream',
      'The tool said that its response is JSON, and it is not. Report this to its developer.',
      {
        code: 'BAD_ANSWER',
        retryable: false,
        cause,
      },
    )
  }
}
