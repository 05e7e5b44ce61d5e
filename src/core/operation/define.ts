/** `operation()` and what belongs to it: takes what a developer writes, schemas of any library and a function. */

import type { FailOptions, HandlerContext, MediaFile } from '../call/context.ts'
import { Fault } from '../fault.ts'
import type { JsonObject } from '../json.ts'
import type { AuthDeclaration } from './credential.ts'
import { parseName } from './names.ts'
import type { BackendSpec, OperationDefinition, PublishedSchemas, Tombstone } from './operation.ts'
import type { Chunked, ChunkSource, Returned } from './returned.ts'
import type { ChunkedRule, DeclaredError, MediaSlot, OperationRules } from './rules.ts'
import type { AnySchema, Input, Output, PlainSchema, Schema } from './schema.ts'
import type { StreamOptions, StreamSummary } from './stream.ts'

/** An untyped plain schema: any object. */
type Args<A> = unknown extends Output<A> ? JsonObject : Output<A>

type Run<A, R, App, M extends Slots, E extends string> = (
  args: A,
  ctx: HandlerContext & App & DeclaredContext<M, E>,
) => R | Promise<R>

interface DeclaredContext<M extends Slots, E extends string> {
  readonly media: RequiredMedia<M>
  /** Editors complete the declared codes. `string & {}` keeps the literals apart, so that others stay allowed. */
  fail(code: E | (string & {}), message: string, options?: FailOptions): never
}

type Slots = readonly MediaSlot[]

/** A call without one of these is refused before `run`. */
type RequiredMedia<M extends Slots> = {
  readonly [Slot in M[number] as Slot extends { required: true } ? Slot['name'] : never]: MediaFile
}

// biome-ignore lint/suspicious/noConfusingVoidType: a generator without a return statement returns void.
type Beside<T> = T | undefined | void

/** What a stream yields: frames, or bytes for the encoding `binary`. */
type Frames<F> = AsyncIterable<Output<F> | Uint8Array> | Iterable<Output<F> | Uint8Array>

/**
 * What every operation may have. Interfaces instead of an intersection with a union: the compiler looks a property up in
 * three flat types, which takes a fifth less time for a program of 500 operations.
 */
interface Declared<A, M, E extends string> extends Omit<OperationRules, 'chunked' | 'media' | 'errors'> {
  args?: A
  media?: M
  errors?: Readonly<Record<E, DeclaredError>>
  jsonSchema?: PublishedSchemas
}

interface HandlerOptions<A, R, App, M extends Slots, C, E extends string> extends Declared<A, M, E> {
  result?: R
  chunked?: C
  frame?: never
  stream?: never
  backend?: never
  auth?: never
  run: Run<Args<A>, Produced<R, C>, App, M, E>
}

/** A chunked operation returns pieces. Without a declared media type, only `ctx.chunks(...)` says of which type they are. */
type Produced<R, C> = [C] extends [never]
  ? Returned<Output<R>>
  : [C] extends [{ mimeType: string }]
    ? ChunkSource<Beside<Output<R>>> | Chunked<Beside<Output<R>>>
    : Chunked<Beside<Output<R>>>

interface FrameOptions<A, App, M extends Slots, F, E extends string> extends Declared<A, M, E> {
  frame: F
  stream?: StreamOptions
  result?: never
  chunked?: never
  backend?: never
  auth?: never
  run: Run<Args<A>, Frames<F>, App, M, E>
}

interface BackendOptions<A, R, M extends Slots, E extends string> extends Declared<A, M, E> {
  result?: R
  chunked?: never
  frame?: never
  stream?: never
  backend: BackendSpec
  auth?: AuthDeclaration
  run?: never
}

export type OperationOptions<
  A extends AnySchema,
  R extends AnySchema,
  App,
  M extends Slots = Slots,
  C = ChunkedRule,
  F = Schema,
  E extends string = string,
> = HandlerOptions<A, R, App, M, C, E> | BackendOptions<A, R, M, E> | FrameOptions<A, App, M, F, E>

/** A caller of a chunked operation receives the place of the bytes. */
type Received<R, C> = [C] extends [never] ? Output<R> : { kind: 'chunks'; mimeType: string; value?: Output<R> }

/**
 * What an operation keeps of its types. A stream also keeps the type of its frames. The types are written out: with a
 * mapped type, the compiler gave up on a list of 100 operations.
 */
type Kept<N, A, R, M extends Slots, C, F, E> = [F] extends [never]
  ? [M[number] | E] extends [never]
    ? { name: N; args: Input<A>; result: Received<R, C> }
    : { name: N; args: Input<A>; result: Received<R, C>; media: M[number]['name']; errors: E }
  : [E] extends [never]
    ? { name: N; args: Input<A>; result: StreamSummary; frame: Output<F> }
    : { name: N; args: Input<A>; result: StreamSummary; frame: Output<F>; errors: E }

export function operation<
  const N extends string,
  A extends AnySchema = PlainSchema,
  R extends AnySchema = PlainSchema,
  const M extends Slots = readonly [],
  C extends ChunkedRule = never,
  F extends AnySchema = never,
  E extends string = never,
>(
  name: N,
  options: OperationOptions<A, R, unknown, M, C, F, E>,
): OperationDefinition<unknown, Kept<N, A, R, M, C, F, E>> {
  return define(name, options)
}

/**
 * `operation` for handlers that use injected values: `const operation = operationsWith<{ db: Db }>()`. It is a separate
 * function, because the compiler cannot infer the injected type from the context annotation of a handler.
 */
export function operationsWith<App>() {
  return <
    const N extends string,
    A extends AnySchema = PlainSchema,
    R extends AnySchema = PlainSchema,
    const M extends Slots = readonly [],
    C extends ChunkedRule = never,
    F extends AnySchema = never,
    E extends string = never,
  >(
    name: N,
    options: OperationOptions<A, R, App, M, C, F, E>,
  ): OperationDefinition<App, Kept<N, A, R, M, C, F, E>> => define(name, options)
}

// `never` is assignable to all operation types. The callers state the types, and they do not exist at run time.
function define<
  A extends AnySchema,
  R extends AnySchema,
  App,
  M extends Slots,
  C extends ChunkedRule,
  F extends AnySchema,
  E extends string,
>(name: string, options: OperationOptions<A, R, App, M, C, F, E>): OperationDefinition<App, never> {
  const { args, result, frame, stream, jsonSchema, run, backend, auth, ...rules } = options
  parseName(name)
  return {
    name,
    rules,
    // `AnySchema` leaves `validate` out. A server refuses a schema without it.
    ...(args && { args: args as Schema }),
    ...(result && { result: result as Schema }),
    ...(frame && { frame: frame as Schema }),
    ...(stream && { stream }),
    ...(jsonSchema && { jsonSchema }),
    ...(run && { run: run as NonNullable<OperationDefinition<App>['run']> }),
    ...(backend && { backend }),
    ...(auth && { auth }),
  }
}

export function removed(name: string, gone: { on: string; replacement?: string }): Tombstone {
  parseName(name)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(gone.on)) {
    throw new Fault('malformed', `removed('${name}'): "on" must be a date such as 2026-06-01, not "${gone.on}".`)
  }
  return { name, removed: gone }
}
