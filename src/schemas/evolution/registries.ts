/**
 * Compares two registries, as served at `/.well-known/ops`, and says of each change whether callers of the old one can
 * stay unchanged (OpenCALL, "Schema Evolution"). Where the specification is silent, the criterion is the same: a call
 * that worked still works, and its result can still be read.
 */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { encodePointer } from '../../core/json-pointer.ts'
import { below, breaking, listOf, type SchemaChange, safe } from './changes.ts'
import { compareMedia } from './media.ts'
import { compareSchemas } from './schemas.ts'

export interface Change {
  op: string
  /** JSON Pointer into the registry entry; empty for the operation itself. */
  path: string
  kind: 'safe' | 'breaking'
  message: string
}

/** `today`, such as 2026-06-01, decides whether a missing operation was past its sunset. */
export function compareRegistries(before: unknown, after: unknown, today: string): Change[] {
  const was = parseRegistry(before, 'old')
  const is = parseRegistry(after, 'new')
  const changes = [...was].flatMap(([op, entry]) => {
    const current = is.get(op)
    return toChanges(op, current ? compareEntries(entry, current) : [compareRemoved(entry, today)])
  })
  const added = [...is.keys()].filter((op) => !was.has(op))
  return [...changes, ...added.flatMap((op) => toChanges(op, [safe([], 'operation was added')]))]
}

function parseRegistry(document: unknown, which: string): Map<string, JsonObject> {
  const entries = isJsonObject(document) ? document.operations : undefined
  if (!Array.isArray(entries)) {
    throw new Fault(
      'malformed',
      `The ${which} registry has no list "operations". Pass the document that a server returns at /.well-known/ops.`,
      { code: 'INVALID_REGISTRY' },
    )
  }
  return new Map(
    entries.flatMap((entry, index): [string, JsonObject][] => {
      // A tombstone is listed for people only. For callers, the operation is gone.
      if (isJsonObject(entry) && typeof entry.op === 'string') return entry.removed === true ? [] : [[entry.op, entry]]
      throw new Fault(
        'malformed',
        `In the ${which} registry, /operations/${index} has no string "op". Add the name of the operation.`,
        {
          code: 'INVALID_REGISTRY',
        },
      )
    }),
  )
}

function toChanges(op: string, changes: readonly SchemaChange[]): Change[] {
  return changes.map(({ at, kind, message }) => ({ op, path: encodePointer(at), kind, message }))
}

/** An operation is served through its sunset day and may be removed from the next day on (opencall:265, 266). */
function compareRemoved(entry: JsonObject, today: string): SchemaChange {
  const sunset = entry.deprecated === true && typeof entry.sunset === 'string' ? entry.sunset : undefined
  if (sunset === undefined) return breaking([], 'operation was removed without a deprecation that names a sunset')
  return sunset < today
    ? safe([], `operation was removed after its sunset on ${sunset}`)
    : breaking([], `operation was removed before the end of its sunset day, ${sunset}`)
}

function compareEntries(before: JsonObject, after: JsonObject): SchemaChange[] {
  const schema = (field: string) => [schemaOf(before[field]), schemaOf(after[field])] as const
  return [
    ...compareModel(before, after),
    ...below(['argsSchema'], compareSchemas(...schema('argsSchema'), 'server')),
    ...below(['resultSchema'], compareSchemas(...schema('resultSchema'), 'caller')),
    ...below(['frameSchema'], compareSchemas(...schema('frameSchema'), 'caller')),
    ...below(['mediaSchema'], compareMedia(listOf(before.mediaSchema), listOf(after.mediaSchema))),
    ...compareDemands(before, after),
    ...compareOffers(before, after),
    ...compareErrors(before, after),
    ...compareDeprecation(before, after),
  ]
}

function schemaOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** The execution model: a caller that handles one model cannot handle the other. */
function compareModel(before: JsonObject, after: JsonObject): SchemaChange[] {
  return ['executionModel', 'chunked'].flatMap((field) => {
    const [was, is] = [before[field] ?? false, after[field] ?? false]
    return was === is ? [] : [breaking([field], `${field} changed from ${String(was)} to ${String(is)}`)]
  })
}

/** Requirements of a call besides its arguments. */
function compareDemands(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [wasKey, isKey] = [before.idempotencyRequired === true, after.idempotencyRequired === true]
  const [was, is] = [listOf(before.authScopes), listOf(after.authScopes)]
  return [
    ...(isKey && !wasKey ? [breaking(['idempotencyRequired'], 'an idempotency key became required')] : []),
    ...(wasKey && !isKey ? [safe(['idempotencyRequired'], 'an idempotency key is no longer required')] : []),
    ...is
      .filter((scope) => !was.includes(scope))
      .map((scope) => breaking(['authScopes'], `scope ${scope} is now required`)),
    ...was
      .filter((scope) => !is.includes(scope))
      .map((scope) => safe(['authScopes'], `scope ${scope} is no longer required`)),
  ]
}

function compareOffers(before: JsonObject, after: JsonObject): SchemaChange[] {
  return ['supportedTransports', 'supportedEncodings'].flatMap((field) => {
    const [was, is] = [listOf(before[field]), listOf(after[field])]
    return [
      ...was.filter((offer) => !is.includes(offer)).map((offer) => breaking([field], `${offer} is no longer offered`)),
      ...is.filter((offer) => !was.includes(offer)).map((offer) => safe([field], `${offer} is now offered`)),
    ]
  })
}

/** A caller that handles a code waits for it under its name. Codes that are not declared were always allowed. */
function compareErrors(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [codesIn(before.errors), codesIn(after.errors)]
  return [
    ...was.filter((code) => !is.includes(code)).map((code) => breaking(['errors', code], 'error code was removed')),
    ...is.filter((code) => !was.includes(code)).map((code) => safe(['errors', code], 'error code was added')),
  ]
}

function codesIn(errors: JsonValue | undefined): readonly string[] {
  return isJsonObject(errors) ? Object.keys(errors) : []
}

/** A deprecation announces a change and is safe. A sunset that moves to an earlier date is breaking. */
function compareDeprecation(before: JsonObject, after: JsonObject): SchemaChange[] {
  const [was, is] = [before.deprecated === true, after.deprecated === true]
  if (was !== is) return [safe(['deprecated'], is ? 'operation was deprecated' : 'operation is no longer deprecated')]
  const [promised, now] = [before.sunset, after.sunset]
  if (promised === now || typeof now !== 'string') return []
  const earlier = typeof promised === 'string' && now < promised
  const message = `sunset moved from ${String(promised ?? 'no date')} to ${now}`
  return [earlier ? breaking(['sunset'], message) : safe(['sunset'], message)]
}
