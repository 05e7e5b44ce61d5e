/** What a handler is given besides its arguments. */

import type { Caller } from './caller.ts'
import type { FaultOptions } from './fault.ts'
import type { LocationAuth, Progress } from './instance.ts'
import type { JsonValue } from './json.ts'
import type {
  Chunked,
  ChunkedOptions,
  ChunkSource,
  EffectiveTerms,
  Located,
  Operation,
  OperationDefinition,
  OperationTypes,
} from './operation.ts'
import type { Log } from './ports/runtime.ts'
import type { Credential } from './ports/secrets.ts'
import type { AnswerTo, QuestionKind, Questions } from './questions.ts'
import type { SaidLevel } from './requirements.ts'

export interface HandlerContext {
  readonly caller: Caller
  readonly requestId: string
  readonly sessionId: string | undefined
  readonly parentId: string | undefined
  readonly locale: string | undefined
  readonly traceparent: string | undefined
  /** Aborts on cancel, time-out, lost lease and shutdown. */
  readonly signal: AbortSignal
  /** Grows each time the call is handed out to be run; 1 unless it was handed out before. */
  readonly attempt: number
  /** The same at every attempt of this call, and no other call's: pass it on to make effects happen once. */
  readonly key: string
  readonly log: Log
  /** The call's attachments by name. */
  readonly media: Readonly<Record<string, MediaFile>>
  /** Tells watchers how far this is; `fraction` from 0 to 1. */
  progress(fraction: Progress['fraction'], message?: string): void
  /** The token the person has let us have at this provider; the operation must name it in `requires`. */
  authorization(id: string): Promise<string>
  /** For when the provider refuses the token: it is not used again, and the call ends saying that it may be sent anew. */
  reauthorize(id: string): Promise<never>
  /** A secret the call brought; the operation must name it in `requires`. */
  secret(id: string): string
  /** For whom the call says it acts. */
  readonly userId: string | undefined
  /** Whether the caller can be asked such a thing: it depends on the protocol and the client. */
  canAsk(kind: QuestionKind): boolean
  /**
   * Asks the caller. Without an answer the handler ends here and is run again from its start, with the answers, once
   * they have come: ask before anything has happened that must not happen twice. Of a form the answer may be "no".
   */
  ask<Q extends Questions>(questions: Q): Promise<{ [K in keyof Q]: AnswerTo<Q[K]> }>
  /** A word to the caller while this runs, if it listens. It is kept nowhere; what the operator should know is for `log`. */
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
   * The result of a chunked operation: its pieces, of which type they are, and a value beside them, which may also be
   * what the generator returns at its end.
   */
  chunks<Returned, Value = never>(
    source: ChunkSource<Returned>,
    options?: ChunkedOptions<Value>,
  ): Chunked<Returned | Value>
  /** A result that lives at another address. */
  location(uri: string, options?: { auth?: LocationAuth; redirect?: boolean }): Located
}

/** What a backend is given: a handler's context, and what running something elsewhere needs besides. */
export interface BackendContext extends HandlerContext {
  readonly operation: Operation
  /** Which try this is; 1 is the first. Being handed out again after a crash is not a new one. */
  readonly tryNumber: number
  /** The limits of this call: the operation's, or tighter ones. */
  readonly terms: EffectiveTerms
  /** What is left of this attempt's time, if it has a limit. */
  readonly remainingMs: number | undefined
  /** The operation's own credential, resolved now; nothing if it has none. */
  credential(): Promise<Credential | undefined>
  /** Commits what taking this call up again needs, before anything leaves that an answer from outside may follow. */
  expectAnswer(waiting: JsonValue): Promise<void>
  /**
   * For a backend with a queue of its own: the time until `turn` settles does not count against `timeoutMs`. The deadline
   * of the call goes on, and the signal still aborts.
   */
  queued<T>(turn: Promise<T>): Promise<T>
  /** The answer that came from outside. */
  readonly answer: JsonValue | undefined
}

export type FailOptions = Pick<
  FaultOptions,
  'retryable' | 'retryAfterMs' | 'details' | 'promptContent' | 'developerMessage'
>

export interface ChildOptions {
  /** Instead of the key derived from this call and the position of the child call in it. */
  idempotencyKey?: string
  locale?: string
}

export interface ObjectOptions {
  mimeType: string
  filename?: string
  /** Answers with a redirect where the protocol has one. */
  redirect?: boolean
}

export interface MediaFile {
  readonly name: string
  readonly mimeType: string
  /** As the caller's file is called, where that is known: without a path, at most 255 characters. */
  readonly filename: string | undefined
  stream(): AsyncIterable<Uint8Array>
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
}
