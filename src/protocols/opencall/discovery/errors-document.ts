/**
 * `/.well-known/errors`: the codes of every failure, with their meaning and a remedy. The later revision, "Errors Endpoint",
 * and docs/readings.md#r44.
 */
import type { Operation } from '../../../core/operation/operation.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'
import { CALL_VERSION, type ErrorEntry } from '../wire.ts'
import { serviceErrors } from './service-errors.ts'

export interface ErrorsDocument {
  callVersion: string
  /** Of every operation. */
  service: ErrorEntry[]
  /** Declared by operations, by their name. */
  operations: Record<string, ErrorEntry[]>
}

export function encodeErrors(catalog: Catalog, now: number, internal: readonly Operation[]): ErrorsDocument {
  const declaring = [...catalog.list(now), ...internal].filter(({ errors }) => Object.keys(errors).length > 0)
  return {
    callVersion: CALL_VERSION,
    service: serviceErrors(),
    operations: Object.fromEntries(declaring.map((operation) => [operation.name.full, declaredErrors(operation)])),
  }
}

/** docs/readings.md#r01: the status of a business failure. */
function declaredErrors({ errors, model }: Operation): ErrorEntry[] {
  return Object.entries(errors).map(([code, { description, remedy, retryable = false }]) => ({
    code,
    httpStatus: model === 'async' ? 202 : 200,
    state: 'error',
    message: description,
    ...(remedy !== undefined && { remedy }),
    retryable,
  }))
}
