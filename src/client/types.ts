/**
 * The types of a client, from those of the operations. All work is in mapped types over names. The compiler resolves
 * them only for the properties that a program uses, so that 500 operations cost little.
 */
import type { JsonObject } from '../core/json.ts'
import type { TypesIn } from '../core/operation/operation.ts'
import type { Download, DownloadableCall } from './downloads/download.ts'
import type { ClientCode, MayFault } from './fault.ts'
import type { ProgressRun } from './full-run.ts'
import type { CallOptions } from './options.ts'
import type { Registry } from './registry.ts'
import type { Run } from './run.ts'
import type { FrameStream } from './streams/frame-stream.ts'

type NameOf<D> = TypesIn<D> extends { name: infer N extends string } ? N : never

/** Operations by their names: from a module or an object of operations, a list, or a generated interface. */
export type Named<Ops> = Ops extends readonly (infer D)[]
  ? { [One in D as NameOf<One>]: TypesIn<One> }
  : { [Key in keyof Ops as NameIn<Ops, Key>]: Key extends VersionedName ? Ops[Key] : TypesIn<Ops[Key]> }

type VersionedName = `v${number}:${string}`
type NameIn<Ops, Key extends keyof Ops> = Key extends VersionedName ? Key : NameOf<Ops[Key]>

// Members are read by their names. With `infer`, a program of 500 operations makes the compiler instantiate 28,000 more
// types.

/** The arguments that an operation takes. */
export type ArgsOf<T> = T extends { args: unknown } ? (unknown extends T['args'] ? JsonObject : T['args']) : JsonObject
/** A chunked result is a download. */
export type ResultOf<T> = T extends { result: unknown }
  ? T['result'] extends { kind: 'chunks' }
    ? DownloadOf<T['result']>
    : T['result']
  : unknown
type DownloadOf<R> = R extends { kind: 'chunks'; mimeType: string; value?: infer V } ? Download<V> : R
export type FrameOf<T> = T extends { frame: infer F } ? F : unknown
type MediaOf<T> = T extends { media: string } ? T['media'] : string
/** The declared codes, those of the client, and any other code of the server. */
export type CodesOf<T> = (T extends { errors: string } ? T['errors'] : never) | ClientCode | (string & {})

/** Arguments may be left out if none is required. */
export type Parameters<T> =
  Record<never, never> extends ArgsOf<T>
    ? [args?: ArgsOf<T>, options?: CallOptions<MediaOf<T>>]
    : [args: ArgsOf<T>, options?: CallOptions<MediaOf<T>>]

/** A call under way. `safe(call)` gives its outcome as a union. */
export interface Call<Result, Code extends string = string> extends Promise<Result>, MayFault<Code> {}

/** An operation as a function. */
interface Callable<T, Returned, Started> {
  (...parameters: Parameters<T>): Returned
  /** Resolves when the server has accepted the call. The handle has the id, the progress and the result. */
  start(...parameters: Parameters<T>): Promise<Started>
  /** A handle of a call that was started before. */
  resume(id: string): Started
  /** Its name: `v1:orders.getItem`. */
  readonly operation: string
}

interface Watchable<T> {
  (...parameters: Parameters<T>): FrameStream<FrameOf<T>>
  readonly operation: string
}

/** `calls` is the small client, without downloads and streams. */
export type Kind = 'calls' | 'full'

type Leaf<T, K extends Kind> = T extends { frame: unknown }
  ? K extends 'full'
    ? Watchable<T>
    : never
  : K extends 'full'
    ? Callable<T, DownloadableCall<ResultOf<T>, CodesOf<T>>, ProgressRun<ResultOf<T>>>
    : Callable<T, Call<ResultOf<T>, CodesOf<T>>, Run<ResultOf<T>>>

type LeafKey<Name, Prefix extends string> = Name extends `${Prefix}${infer Rest}`
  ? Rest extends `${string}.${string}`
    ? never
    : Rest
  : never
type BranchKey<Name, Prefix extends string> = Name extends `${Prefix}${infer First}.${string}` ? First : never

/**
 * The operations of `Names`, which begin with a prefix such as `v1:orders.`. Where several names give one key, `Name` is
 * their union, so a branch looks at its own names only. That halves what the compiler instantiates for 500 operations
 * in 50 branches.
 */
type Tree<Ops, Names extends keyof Ops, Prefix extends string, K extends Kind> = {
  readonly [Name in Names as LeafKey<Name, Prefix>]: Leaf<Ops[Name], K>
} & {
  readonly [Name in Names as BranchKey<Name, Prefix>]: Tree<Ops, Name, `${Prefix}${BranchKey<Name, Prefix>}.`, K>
}

type MajorOf<Name> = Name extends `${infer Major extends `v${number}`}:${string}` ? Major : never

/** `api.orders.getItem` is `v1:orders.getItem`; `api.v2.orders.getItem` is another major. */
export type OperationTree<Ops, K extends Kind> = Tree<Ops, keyof Ops, 'v1:', K> & {
  readonly [Name in keyof Ops as MajorOf<Name>]: Tree<Ops, Name, `${MajorOf<Name>}:`, K>
}

type Typed<Ops, Name> = Name extends keyof Ops ? Ops[Name] : unknown

/** The methods beside the operations. An operation with such a name is reached as `api.v1.call`. */
export interface ClientMethods<Ops, K extends Kind> {
  /** Calls an operation by its name. */
  call<const Name extends (keyof Ops & string) | (string & {})>(
    name: Name,
    ...parameters: Parameters<Typed<Ops, Name>>
  ): ReturnType<CallableNamed<Ops, Name, K>>
  /** A handle of any call that was started before. */
  resume<Result = unknown>(id: string): K extends 'full' ? ProgressRun<Result> : Run<Result>
  /** Ends the connection of a transport that keeps one. Calls under way on it end with `ABORTED`. */
  close(): void
}

type CallableNamed<Ops, Name, K extends Kind> =
  Leaf<Typed<Ops, Name>, K> extends infer L extends (...p: never) => unknown ? L : never

export type SmallClient<Ops> = OperationTree<Named<Ops>, 'calls'> & ClientMethods<Named<Ops>, 'calls'>

export type Client<Ops> = OperationTree<Named<Ops>, 'full'> & FullMethods<Named<Ops>>

interface FullMethods<Ops> extends ClientMethods<Ops, 'full'> {
  /** The operations of the server. Asked again only if they changed. */
  registry(signal?: AbortSignal): Promise<Registry>
}
