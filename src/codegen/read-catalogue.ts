/** Reads the document that a server returns at `/.well-known/ops`. Unknown fields are ignored. */
import { Fault } from '../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { isName, lineageOf, parseName } from '../core/operation/names.ts'
import type {
  Catalogue,
  CatalogueError,
  CatalogueMedia,
  CatalogueOperation,
  CatalogueStream,
  JsonSchema,
} from './catalogue.ts'
import { sortedCopy } from './sorted-copy.ts'

/** What the registry document does not say. */
export interface CatalogueFacts {
  url?: string
  title?: string
  version?: string
}

/** Deeper schemas would exhaust the stack of the targets. */
const MAX_DEPTH = 200
const MODELS = ['sync', 'async', 'stream'] as const

export function readCatalogue(document: unknown, facts: CatalogueFacts = {}): Catalogue {
  const entries = isJsonObject(document) ? document.operations : undefined
  if (!isJsonObject(document) || !Array.isArray(entries)) throw notARegistry()
  const callVersion = textOf(document.callVersion) ?? 'unknown'
  const problems: string[] = []
  const operations = readOperations(entries, problems)
  return {
    title: facts.title ?? textOf(document.title) ?? 'Operations',
    version: facts.version ?? callVersion,
    ...(facts.url !== undefined && { url: facts.url.replace(/\/+$/, '') }),
    callVersion,
    operations: operations.sort(byName),
    problems: problems.sort(),
  }
}

function byName(one: CatalogueOperation, other: CatalogueOperation): number {
  if (one.lineage !== other.lineage) return one.lineage < other.lineage ? -1 : 1
  return one.major - other.major
}

/** One operation for each name. A removed one cannot be called, so it is not in the catalogue. */
function readOperations(entries: readonly JsonValue[], problems: string[]): CatalogueOperation[] {
  const found = new Map<string, CatalogueOperation>()
  for (const entry of entries) {
    if (isJsonObject(entry) && entry.removed === true) continue
    try {
      const operation = readOperation(nameOf(entry), entry as JsonObject)
      const other = found.get(operation.name)
      if (other) problems.push(`${operation.name} is listed twice. One of the entries is left out.`)
      // The choice must not depend on the order of the entries.
      if (!other || textOfOperation(operation) < textOfOperation(other)) found.set(operation.name, operation)
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      problems.push(thrown.message)
    }
  }
  return [...found.values()]
}

function nameOf(entry: JsonValue): string {
  const op = isJsonObject(entry) ? entry.op : undefined
  if (typeof op !== 'string') throw leftOut('An entry', 'it has no string "op".')
  if (isName(op)) return op
  throw leftOut(JSON.stringify(op.slice(0, 200)), 'it is not an operation name such as v1:orders.getItem.')
}

function leftOut(what: string, why: string): Fault {
  return new Fault('malformed', `${what} is left out: ${why}`, { code: 'INVALID_REGISTRY' })
}

function textOfOperation(operation: CatalogueOperation): string {
  return JSON.stringify(operation)
}

function readOperation(op: string, entry: JsonObject): CatalogueOperation {
  const name = parseName(op)
  const model = MODELS.find((known) => known === entry.executionModel) ?? 'sync'
  const [title, description] = [entry.title, entry.description].map(textOf)
  const [maxSyncMs, ttlSeconds] = [entry.maxSyncMs, entry.ttlSeconds].map(numberOf)
  const { namespace } = name
  return {
    name: op,
    lineage: lineageOf(name),
    major: name.major,
    ...(namespace !== undefined && { namespace }),
    base: name.base,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    model,
    args: readSchema(op, entry.argsSchema),
    result: readSchema(op, entry.resultSchema),
    ...(model === 'stream' && { stream: readStream(op, entry) }),
    errors: readErrors(entry.errors),
    media: listOf(entry.mediaSchema).flatMap(readMedia),
    chunked: entry.chunked === true,
    scopes: textsOf(entry.authScopes).sort(),
    sideEffecting: entry.sideEffecting === true,
    idempotencyRequired: entry.idempotencyRequired === true,
    ...(maxSyncMs !== undefined && { maxSyncMs }),
    ttlSeconds: ttlSeconds ?? 0,
    cachingPolicy: textOf(entry.cachingPolicy) ?? 'none',
    ...(entry.deprecated === true && { deprecated: readDeprecation(entry) }),
  }
}

function readSchema(op: string, schema: JsonValue | undefined): JsonSchema {
  if (schema === false) return { not: {} }
  if (!isJsonObject(schema)) return {}
  const copy = sortedCopy(schema, MAX_DEPTH)
  if (copy) return copy
  throw leftOut(op, `a schema is nested deeper than ${MAX_DEPTH} levels. Use $ref and $defs instead.`)
}

function readStream(op: string, entry: JsonObject): CatalogueStream {
  const encodings = textsOf(entry.supportedEncodings)
  const proto = textOf(entry.frameProto)
  return {
    frame: readSchema(op, entry.frameSchema),
    transports: textsOf(entry.supportedTransports),
    encodings: encodings.length > 0 ? encodings : ['json'],
    integrity: entry.frameIntegrity === true,
    ...(proto !== undefined && { proto }),
  }
}

function readMedia(slot: JsonValue): CatalogueMedia[] {
  if (!isJsonObject(slot) || typeof slot.name !== 'string') return []
  const maxBytes = numberOf(slot.maxBytes)
  return [
    {
      name: slot.name,
      required: slot.required === true,
      acceptedTypes: textsOf(slot.acceptedTypes),
      ...(maxBytes !== undefined && { maxBytes }),
    },
  ]
}

function readDeprecation({ sunset, replacement }: JsonObject): NonNullable<CatalogueOperation['deprecated']> {
  return {
    ...(typeof sunset === 'string' && { sunset }),
    ...(typeof replacement === 'string' && { replacement }),
  }
}

/** An object by code, as in the registry, or a list of codes or of objects with a code. */
function readErrors(errors: unknown): CatalogueError[] {
  const entries = Array.isArray(errors)
    ? errors.map((item): [unknown, unknown] => (isJsonObject(item) ? [item.code, item] : [item, undefined]))
    : Object.entries(isJsonObject(errors) ? errors : {})
  const found = new Map<string, CatalogueError>()
  for (const [code, fields] of entries) {
    if (typeof code !== 'string' || found.has(code)) continue
    const { description, remedy, retryable } = isJsonObject(fields) ? fields : ({} as JsonObject)
    found.set(code, {
      code,
      ...(typeof description === 'string' && { description }),
      ...(typeof remedy === 'string' && { remedy }),
      retryable: retryable === true,
    })
  }
  return [...found.values()].sort((one, other) => (one.code < other.code ? -1 : 1))
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

function textsOf(value: JsonValue | undefined): string[] {
  return [...new Set(listOf(value).filter((item) => typeof item === 'string'))]
}

function notARegistry(): Fault {
  return new Fault(
    'malformed',
    'The registry has no list "operations". Pass the document that a server returns at /.well-known/ops.',
    { code: 'INVALID_REGISTRY' },
  )
}
