/**
 * Redacts secrets from the outcome of an attempt. The fixed values of the records stay, even if a secret equals one of
 * them.
 */

import type { Outcome, ResultLocation } from '../../core/call/instance.ts'
import type { FaultRecord } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { ByteRedactor } from '../../core/ports/runtime.ts'

type Redact = (value: JsonValue) => JsonValue

export function cleanOutcome(outcome: Outcome, redact: Redact): Outcome {
  switch (outcome.kind) {
    case 'result':
      return { kind: 'result', value: redact(outcome.value) }
    case 'location':
      return { kind: 'location', location: cleanLocation(outcome.location, redact) }
    case 'fault':
      return { ...outcome, fault: cleanFault(outcome.fault, redact) }
  }
}

function cleanLocation(location: ResultLocation, redact: Redact): ResultLocation {
  const text = (said: string) => redact(said) as string
  if (location.kind === 'object') return { ...location, mimeType: text(location.mimeType) }
  if (location.kind === 'chunks') {
    const { value } = location
    return { ...location, mimeType: text(location.mimeType), ...(value !== undefined && { value: redact(value) }) }
  }
  const { auth } = location
  const credential = auth && {
    ...auth,
    credentialType: text(auth.credentialType),
    credential: text(auth.credential),
  }
  return { ...location, uri: text(location.uri), ...(credential && { auth: credential }) }
}

function cleanFault({ kind, retryable, retryAfterMs, ...said }: FaultRecord, redact: Redact): FaultRecord {
  const clean = Object.entries(said).map(([name, value]) => [name, redact(value)])
  return { kind, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }), ...Object.fromEntries(clean) }
}

/** Redacts a stream of bytes from the moment that there is something to conceal. */
export function cleanBytes(conceals: () => boolean, redactBytes: () => ByteRedactor): ByteRedactor {
  let redactor: ByteRedactor | undefined
  return {
    push: (bytes) => {
      if (conceals()) redactor ??= redactBytes()
      return redactor ? redactor.push(bytes) : bytes
    },
    end: () => redactor?.end() ?? new Uint8Array(),
  }
}
