/**
 * Operations. `operation()` takes what a developer writes: schemas of any library, and a function. An `Operation` is what
 * the engine runs: checked, with validators and a backend. `src/schemas` and the backends turn one into the other.
 */
import type { HandlerContext, MediaFile } from './context.ts'
import type { AuthBinding, AuthDeclaration } from './credential.ts'
import { Fault } from './fault.ts'
import type { ExecutionModel, ResultLocation } from './instance.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { type OperationName, parseName } from './names.ts'
import type { Backend } from './ports/backend.ts'
import type { Requirements } from './requirements.ts'
import type { Input, Output, PlainSchema, Schema } from './schema.ts'

export interface MediaSlot {
  name: string
  required?: boolean
  acceptedTypes: readonly string[]
  maxBytes: number
}

export const RISKS = ['low', 'medium', 'high', 'critical'] as const

export type Risk = (typeof RISKS)[number]

export interface RetryRules {
  /** Maximum number of attempts; 1 means no retry. */
  attempts: number
  backoffMs?: number
  maxBackoffMs?: number
  jitter?: 'none' | 'full' | 'equal'
}

/** The limits a call runs under. */
export interface EffectiveTerms {
  /** Limit of one attempt. */
  timeoutMs?: number
  retry: RetryRules
}

/** The data of an operation: what the registry publishes and the engine applies. */
export interface OperationRules {
  description?: string
  title?: string
  /** Full version (default: `N.0.0` for `vN:`). */
  version?: string
  model?: ExecutionModel
  sideEffecting?: boolean
  /** Default: the value of `sideEffecting`. */
  idempotencyRequired?: boolean
  /** Longest wait for a direct response of a sync operation. */
  maxSyncMs?: number
  /** How long the outcome is kept for callers (default: 0 for sync, 86,400 for async). */
  ttlSeconds?: number
  /** Limit of one attempt. */
  timeoutMs?: number
  /** Limit of all attempts together, including the waits between them but not the wait for an approval. */
  deadlineMs?: number
  retry?: RetryRules
  /** Capabilities, for policies: `network.read`, `data.write`. */
  capabilities?: readonly string[]
  /** Risk level (default: low). High and critical run in a sandbox, unless a policy says otherwise. */
  risk?: Risk
  scopes?: readonly string[]
  /** Callable without authentication. */
  public?: boolean
  /** Visible only to callers with its scopes, and never offered as a tool. */
  internal?: boolean
  media?: readonly MediaSlot[]
  /** The result is bytes, produced and fetched in pieces. */
  chunked?: ChunkedRule
  cache?: { policy: 'none' } | { policy: 'server'; ttlSeconds: number } | { policy: 'location' }
  /** Maximum number of concurrent runs on one node. */
  concurrency?: number
  deprecated?: { sunset?: string; replacement?: string }
  /** Requirements that the caller must meet, such as a person's authorization. */
  requires?: Requirements
}

/** The media type of every result, or `true` if each call sets its own with `ctx.chunks(...)`. */
export type ChunkedRule = { mimeType: string } | true

/** What `run` may return: a value, or the location of bytes. */
export type Returned<T> = T | Located

/** Recognised by a mark, for the same reason as `Fault`. */
const LOCATED = Symbol.for('callplane.located')

/** Made by `ctx.object(...)` and `ctx.location(...)`. */
export class Located {
  readonly [LOCATED] = true
  readonly location: ResultLocation
  constructor(location: ResultLocation) {
    this.location = location
  }

  static [Symbol.hasInstance](value: unknown): value is Located {
    return typeof value === 'object' && value !== null && LOCATED in value
  }
}

/** Returned by a backend instead of a result: the result comes later, by callback or by polling. */
export class Deferred {
  readonly waiting: JsonValue
  /** When to poll again. */
  readonly resumeInMs: number

  constructor(waiting: JsonValue, resumeInMs: number) {
    this.waiting = waiting
    this.resumeInMs = resumeInMs
  }
}

/** Pieces of a result. The return value of a generator is the value beside them. */
export type ChunkSource<T = unknown> = AsyncIterable<Piece, T, unknown> | Iterable<Piece, T, unknown>

type Piece = string | Uint8Array
// biome-ignore lint/suspicious/noConfusingVoidType: a generator without a return statement returns void.
type Beside<T> = T | undefined | void

const CHUNKED = Symbol.for('callplane.chunked')

export interface ChunkedOptions<T> {
  /** Needed if the operation does not declare one. */
  mimeType?: string
  /** A value beside the bytes. A function is called after the last piece. */
  value?: T | (() => T | Promise<T>)
}

/** Made by `ctx.chunks(...)`. */
export class Chunked<T = unknown> {
  readonly [CHUNKED] = true
  readonly source: ChunkSource
  readonly mimeType: string
  readonly value: ChunkedOptions<T>['value']

  constructor(source: ChunkSource, mimeType: string, value?: ChunkedOptions<T>['value']) {
    this.source = source
    this.mimeType = mimeType
    this.value = value
  }

  static [Symbol.hasInstance](value: unknown): value is Chunked {
    return typeof value === 'object' && value !== null && CHUNKED in value
  }
}

/** An untyped plain schema: any object. */
type Args<A> = unknown extends Output<A> ? JsonObject : Output<A>

type Run<A, R, App, M extends Slots> = (
  args: A,
  ctx: HandlerContext & App & { readonly media: RequiredMedia<M> },
) => R | Promise<R>

type Slots = readonly MediaSlot[]

/** A call without one of these is refused before `run`. */
type RequiredMedia<M extends Slots> = {
  readonly [Slot in M[number] as Slot extends { required: true } ? Slot['name'] : never]: MediaFile
}

/** The types that an operation keeps for its callers. The frames of a stream will be one more field. */
export interface OperationTypes {
  /** The arguments that a caller sends. */
  args: unknown
  /** The result that a caller receives. */
  result: unknown
}

declare const types: unique symbol

/**
 * One operation as its developer wrote it. `App` is the type of the values that the application injects into its
 * handler. `Types` is only for the compiler. It has plain types instead of schemas, so that the type of an exported
 * operation is short to print and cheap to check.
 */
export interface OperationDefinition<App = unknown, Types extends OperationTypes = OperationTypes> {
  readonly [types]?: Types
  readonly name: string
  readonly rules: OperationRules
  readonly args?: Schema
  readonly result?: Schema
  /** Published instead of the library's export. Required for libraries that cannot export JSON Schema. */
  readonly jsonSchema?: { args?: PlainSchema; result?: PlainSchema }
  /** Absent if a backend runs it. */
  run?(args: unknown, ctx: HandlerContext & App): unknown
  /** Runs it outside this process. */
  readonly backend?: BackendSpec
  readonly auth?: AuthDeclaration
  /** Base folder of paths in the backend's settings (default: the working folder). */
  readonly folder?: string
}

/** A declared backend: its kind and the settings of that kind. */
export interface BackendSpec {
  readonly kind: string
  readonly [setting: string]: unknown
}

export type OperationOptions<A extends Schema, R extends Schema, App, M extends Slots = Slots, C = ChunkedRule> = Omit<
  OperationRules,
  'chunked' | 'media'
> & {
  args?: A
  result?: R
  media?: M
  chunked?: C
  jsonSchema?: { args?: PlainSchema; result?: PlainSchema }
} & (
    | { chunked?: never; backend?: never; auth?: never; run: Run<Args<A>, Returned<Output<R>>, App, M> }
    // A separate overload: otherwise a string would match as an iterable of characters.
    | {
        chunked: { mimeType: string }
        backend?: never
        auth?: never
        run: Run<Args<A>, ChunkSource<Beside<Output<R>>> | Chunked<Beside<Output<R>>>, App, M>
      }
    | { chunked: true; backend?: never; auth?: never; run: Run<Args<A>, Chunked<Beside<Output<R>>>, App, M> }
    | { chunked?: never; backend: BackendSpec; auth?: AuthDeclaration; run?: never }
  )

/** A caller of a chunked operation receives the place of the bytes. */
type Received<R, C> = [C] extends [never] ? Output<R> : { kind: 'chunks'; mimeType: string; value?: Output<R> }

export function operation<
  A extends Schema = PlainSchema,
  R extends Schema = PlainSchema,
  const M extends Slots = readonly [],
  C extends ChunkedRule = never,
>(
  name: string,
  options: OperationOptions<A, R, unknown, M, C>,
): OperationDefinition<unknown, { args: Input<A>; result: Received<R, C> }> {
  return define(name, options)
}

/**
 * `operation` for handlers that use injected values: `const operation = operationsWith<{ db: Db }>()`. It is a separate
 * function, because the compiler cannot infer the injected type from the context annotation of a handler.
 */
export function operationsWith<App>() {
  return <
    A extends Schema = PlainSchema,
    R extends Schema = PlainSchema,
    const M extends Slots = readonly [],
    C extends ChunkedRule = never,
  >(
    name: string,
    options: OperationOptions<A, R, App, M, C>,
  ): OperationDefinition<App, { args: Input<A>; result: Received<R, C> }> => define(name, options)
}

// `never` is assignable to all operation types. The callers state the types, and they do not exist at run time.
function define<A extends Schema, R extends Schema, App, M extends Slots, C extends ChunkedRule>(
  name: string,
  options: OperationOptions<A, R, App, M, C>,
): OperationDefinition<App, never> {
  const { args, result, jsonSchema, run, backend, auth, ...rules } = options
  parseName(name)
  return {
    name,
    rules,
    ...(args && { args }),
    ...(result && { result }),
    ...(jsonSchema && { jsonSchema }),
    ...(run && { run: run as NonNullable<OperationDefinition<App>['run']> }),
    ...(backend && { backend }),
    ...(auth && { auth }),
  }
}

/** Keeps the name of a removed operation, so that its callers get the replacement. */
export interface Tombstone {
  readonly name: string
  readonly removed: { on: string; replacement?: string }
}

export function removed(name: string, gone: { on: string; replacement?: string }): Tombstone {
  parseName(name)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(gone.on)) {
    throw new Fault('malformed', `removed('${name}'): "on" must be a date such as 2026-06-01, not "${gone.on}".`)
  }
  return { name, removed: gone }
}

/** Checks and parses unknown JSON, or throws a fault of kind `invalid-input` that names every problem. */
export type Parse = (value: unknown) => unknown | Promise<unknown>

/** An operation ready to run: defaults filled in, schemas as functions and as JSON Schema. */
export interface Operation
  extends Required<
    Omit<
      OperationRules,
      'deprecated' | 'requires' | 'chunked' | 'timeoutMs' | 'deadlineMs' | 'concurrency' | 'title' | 'internal'
    >
  > {
  /** Registry key: `v1:orders.getItem@1.0.0`. */
  readonly key: string
  readonly name: OperationName
  readonly title?: string
  readonly internal?: boolean
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly concurrency?: number
  /** If `mimeType` is absent, each call sets its own. */
  readonly chunked?: { mimeType?: string }
  readonly deprecated?: { sunset?: string; replacement?: string }
  readonly requires?: Requirements
  readonly parseArgs: Parse
  readonly parseResult: Parse
  /** Published schemas: the input side of the arguments, the output side of the result. */
  readonly schemas: { readonly args: JsonObject; readonly result: JsonObject }
  readonly backend: Backend
  /** The credential that is sent to a remote tool. */
  readonly auth?: AuthBinding
}

/** The validators and JSON Schemas that are made from a schema library: see `src/schemas`. */
export interface PreparedSchemas {
  parseArgs: Parse
  parseResult: Parse
  schemas: { readonly args: JsonObject; readonly result: JsonObject }
}
