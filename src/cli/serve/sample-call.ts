/** Builds a sample call to paste: a sync operation without side effects, with arguments that fit its schema. */
import type { JsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { sampleArguments } from '../../testing/samples/samples.ts'

export function sampleCall(operations: readonly Operation[]): { op: string; args: JsonObject } | undefined {
  const harmless = operations.find(
    ({ model, sideEffecting, media, deprecated }) =>
      model === 'sync' && !sideEffecting && !deprecated && !media.some((slot) => slot.required),
  )
  return harmless && { op: harmless.name.full, args: sampleArguments(harmless.schemas.args) }
}
