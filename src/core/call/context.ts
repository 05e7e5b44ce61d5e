/** The context that a handler receives with its arguments. */

import type { FaultOptions } from '../fault.ts'
import type { JsonValue } from '../json.ts'
import type { Operation, OperationDefinition, OperationTypes } from '../operation/operation.ts'
import type { SaidLevel } from '../operation/requirements.ts'
import type { Chunked, ChunkedOptions, ChunkSource, Located } from '../operation/returned.ts'
import type { EffectiveTerms } from '../operation/rules.ts'
import type { Log } from '../ports/runtime.ts'
import type { Credential } from '../ports/secrets.ts'
import type { Caller } from './caller.ts'
import type { LocationAuth, Progress } from './instance.ts'
import type { AnswerTo, QuestionKind, Questions } from './questions.ts'

export interface HandlerContext {
  readonly caller: Caller
  readonly requestId: string
  readonly sessionId: string | undefined
  readonly parentId: string | undefined
  readonly locale: string | undefined
  readonly traceparent: string | undefined
  /** Aborts on cancel, time-out, lost lease and shutdown. */
  readonly signal: AbortSignal
  /** Starts at 1 and grows each time a worker takes the call. */
  readonly attempt: number
  /** The same in every attempt of this call and unique to it. Pass it on to make effects happen once. */
  readonly key: string
  readonly log: Log
  /** The call's attachments by name. */
  readonly media: Readonly<Record<string, MediaFile>>
  /** Reports progress to watchers. `fraction` is between 0 and 1. */
  progress(fraction: Progress['fraction'], message?: string): void
  /** The person's token at this provider. The operation must name the provider in `requires`. */
  authorization(id: string): Promise<string>
  /** Reports that the provider refused the token. The token is not used again, and the call ends with a retryable fault. */
  reauthorize(id: string): Promise<never>
  /** A secret sent with the call. The operation must name it in `requires`. */
  secret(id: string): string
  /** The user for whom the call acts, as the caller states it. */
  readonly userId: string | undefined
  /** True if the protocol and the client support this kind of question. */
  canAsk(kind: QuestionKind): boolean
  /**
   * Asks the caller. Without a reply the handler ends here and runs again from its start once the replies have arrived,
   * so ask before any effect that must happen once. A person may decline a form.
   */
  ask<Q extends Questions>(questions: Q): Promise<{ [K in keyof Q]: AnswerTo<Q[K]> }>
  /** Sends a message to a caller that listens. It is not stored; use `log` for the operator. */
  say(level: SaidLevel, message: string, data?: JsonValue): void
  /** Ends the call as a business failure the caller can act on. */
  fail(code: string, message: string, options?: FailOptions): never
  /** Runs another operation on behalf of the same caller and waits for its result. */
  call<T = unknown>(operation: string, args: unknown, options?: ChildOptions): Promise<T>
  call<T extends OperationTypes>(
    operation: OperationDefinition<never, T>,
    args: NoInfer<T['args']>,
    options?: ChildOptions,
  ): Promise<T['result']>
  /** Stores bytes and returns a result that points at them. */
  object(source: AsyncIterable<Uint8Array> | Uint8Array | string, options: ObjectOptions): Promise<Located>
  /**
   * The result of a chunked operation: its pieces, their media type, and an optional value beside them. The return
   * value of a generator can also be that value.
   */
  chunks<Returned, Value = never>(
    source: ChunkSource<Returned>,
    options?: ChunkedOptions<Value>,
  ): Chunked<Returned | Value>
  /** A result at another address. */
  location(uri: string, options?: { auth?: LocationAuth; redirect?: boolean }): Located
}

/** The context of a backend: a handler's context, plus what a remote run needs. */
export interface BackendContext extends HandlerContext {
  readonly operation: Operation
  /** The number of this try, starting at 1. A new run after a crash is the same try. */
  readonly tryNumber: number
  /** The limits of this call: the operation's, or tighter ones. */
  readonly terms: EffectiveTerms
  /** Remaining time of this attempt, if it has a limit. */
  readonly remainingMs: number | undefined
  /** Resolves the operation's credential; `undefined` if it has none. */
  credential(): Promise<Credential | undefined>
  /** Commits the data needed to resume this call. Call it before the request that leads to a callback. */
  expectAnswer(waiting: JsonValue): Promise<void>
  /**
   * For a backend with its own queue: the time until `turn` settles does not count against `timeoutMs`. The call's
   * deadline still runs, and the signal still aborts.
   */
  queued<T>(turn: Promise<T>): Promise<T>
  /** The callback's content. */
  readonly answer: JsonValue | undefined
}

export type FailOptions = Pick<
  FaultOptions,
  'retryable' | 'retryAfterMs' | 'details' | 'promptContent' | 'developerMessage'
>

export interface ChildOptions {
  /** Replaces the key derived from this call and the child call's position in it. */
  idempotencyKey?: string
  locale?: string
}

export interface ObjectOptions {
  mimeType: string
  filename?: string
  /** Responds with a redirect if the protocol supports it. */
  redirect?: boolean
  /**
   * The address of the object redirects its caller to the object store, with an address that expires in minutes. Without
   * it, and in a store that has no such addresses, the bytes pass through this server.
   */
  direct?: boolean
}

export interface MediaFile {
  readonly name: string
  readonly mimeType: string
  /** The caller's name for the file, if known: no path, at most 255 characters. */
  readonly filename: string | undefined
  stream(): AsyncIterable<Uint8Array>
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
}
