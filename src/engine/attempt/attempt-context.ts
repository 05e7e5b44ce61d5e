/** The context that a handler receives, created from its attempt. */

import type { Caller } from '../../core/call/caller.ts'
import type { BackendContext, ChildOptions, FailOptions, MediaFile, ObjectOptions } from '../../core/call/context.ts'
import type { LocationAuth } from '../../core/call/instance.ts'
import { isLocation, isMediaType, openMedia } from '../../core/call/media.ts'
import { type AnswerTo, answersTo, type QuestionKind, type Questions } from '../../core/call/questions.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation, OperationDefinition } from '../../core/operation/operation.ts'
import { NOTHING_GIVEN, type SaidLevel, secretGone, tokenGone } from '../../core/operation/requirements.ts'
import { Chunked, type ChunkedOptions, type ChunkSource, Located } from '../../core/operation/returned.ts'
import type { EffectiveTerms } from '../../core/operation/rules.ts'
import type { ByteRedactor, Log } from '../../core/ports/runtime.ts'
import type { Credential } from '../../core/ports/secrets.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptParts } from './job.ts'

/** A class rather than an object literal, so that members the handler does not use are not created. */
export class AttemptContext implements BackendContext {
  readonly #attempt: Attempt
  readonly #parts: AttemptParts
  #media: Readonly<Record<string, MediaFile>> | undefined
  #log: Log | undefined
  #tokens: Map<string, string> | undefined
  #children = 0
  #objects = 0

  constructor(attempt: Attempt, parts: AttemptParts) {
    this.#attempt = attempt
    this.#parts = parts
  }

  get caller(): Caller {
    return this.#attempt.job.caller
  }
  get requestId(): string {
    return this.#attempt.job.requestId
  }
  get sessionId(): string | undefined {
    return this.#attempt.job.sessionId
  }
  get parentId(): string | undefined {
    return this.#attempt.job.parentId
  }
  get locale(): string | undefined {
    return this.#attempt.job.locale
  }
  get traceparent(): string | undefined {
    return this.#attempt.traceparent
  }
  get signal(): AbortSignal {
    return this.#attempt.signal
  }
  get attempt(): number {
    return this.#attempt.number
  }
  get key(): string {
    return this.#attempt.job.id
  }
  get log(): Log {
    const { operation, requestId } = this.#attempt.job
    this.#log ??= this.#parts.env.log.child({ operation: operation.key, requestId, attempt: this.#attempt.number })
    return this.#log
  }
  get media(): Readonly<Record<string, MediaFile>> {
    const { operation, media } = this.#attempt.job
    this.#media ??= openMedia(operation, media, this.#parts.objects, this.#parts.fetcher, () => this.signal)
    return this.#media
  }

  get operation(): Operation {
    return this.#attempt.job.operation
  }
  get tryNumber(): number {
    return this.#attempt.run.failures + 1
  }
  get terms(): EffectiveTerms {
    return this.#attempt.terms
  }
  get remainingMs(): number | undefined {
    const { endsAt } = this.#attempt
    return endsAt === undefined ? undefined : Math.max(0, endsAt - this.#attempt.now())
  }
  get answer(): JsonValue | undefined {
    return this.#attempt.run.answer
  }

  async credential(): Promise<Credential | undefined> {
    const { operation } = this.#attempt.job
    if (!operation.auth) return undefined
    const { credentials } = this.#parts
    if (credentials) {
      const conceal = (value: string) => this.#attempt.conceal(value)
      const credential = await credentials.resolve(operation.auth, conceal, this.signal)
      // The stored values are removed when the call ends. If it has ended already, they would stay longer.
      if (!this.#attempt.ended)
        await this.#attempt.run.keepShown?.(credential.shown ?? Object.values(credential.headers))
      return credential
    }
    const message = `${operation.name.full} needs the secret "${operation.auth.secretRef}", but this server has no source of secrets. Configure "secrets".`
    throw new Fault('secret-missing', message)
  }

  queued<T>(turn: Promise<T>): Promise<T> {
    return this.#attempt.queued(turn)
  }

  async expectAnswer(waiting: JsonValue): Promise<void> {
    this.#attempt.throwIfStopped()
    await this.#attempt.run.expectAnswer?.(waiting)
  }

  get userId(): string | undefined {
    return this.#attempt.job.caller.userId
  }

  async authorization(id: string): Promise<string> {
    const { operation, caller, given = NOTHING_GIVEN } = this.#attempt.job
    const need = operation.requires?.authorization?.find((candidate) => candidate.id === id)
    if (!need) throw undeclared(operation, `authorization "${id}"`)
    const brought = given.tokens.get(id)
    if (brought !== undefined) return this.#attempt.conceal(brought)
    if (given.gone?.includes(id)) throw tokenGone(id, operation)
    const token = await this.#parts.authorizations?.token(caller, id, need.scopes ?? [])
    if (token === undefined) throw unauthorized(id, `The authorization at ${id} no longer exists. Authorize again.`)
    this.#tokens ??= new Map()
    this.#tokens.set(id, token)
    return this.#attempt.conceal(token)
  }

  async reauthorize(id: string): Promise<never> {
    const { operation, caller, given = NOTHING_GIVEN } = this.#attempt.job
    if (given.tokens.has(id))
      throw unauthorized(id, `${id} refused the token that was sent with the call. Send another token.`)
    const token = this.#tokens?.get(id)
    if (token === undefined) throw undeclared(operation, `renewed authorization "${id}"`)
    await this.#parts.authorizations?.refused(caller, id, token)
    throw unauthorized(id, `${id} refused the token that it issued. Call again to renew it.`, true)
  }

  secret(id: string): string {
    const { operation, given = NOTHING_GIVEN } = this.#attempt.job
    if (!operation.requires?.secrets?.includes(id)) throw undeclared(operation, `secret "${id}"`)
    const value = given.secrets.get(id)
    if (value !== undefined) return this.#attempt.conceal(value)
    throw secretGone(id, operation)
  }

  progress(fraction: number, message?: string): void {
    const bounded = Math.min(1, Math.max(0, Number(fraction) || 0))
    const said = message === undefined ? undefined : (this.#parts.env.redact(message) as string)
    this.#attempt.onProgress?.({ fraction: bounded, ...(said !== undefined && { message: said }) })
  }

  canAsk(kind: QuestionKind): boolean {
    return this.#attempt.job.asking?.kinds.includes(kind) === true
  }

  async ask<Q extends Questions>(questions: Q): Promise<{ [K in keyof Q]: AnswerTo<Q[K]> }> {
    const { operation, asking } = this.#attempt.job
    return answersTo(questions, asking, this.#parts.env, operation.name.full)
  }

  say(level: SaidLevel, message: string, data?: JsonValue): void {
    const { given } = this.#attempt.job
    if (!given?.hear || this.#attempt.ended) return
    const { redact } = this.#parts.env
    given.hear({ level, message: redact(message) as string, ...(data !== undefined && { data: redact(data) }) })
  }

  fail(code: string, message: string, options: FailOptions = {}): never {
    const declared = this.#attempt.job.operation.errors[code]
    throw new Fault('domain', message, { ...(declared?.retryable && { retryable: true }), ...options, code })
  }

  async call<T>(operation: string | OperationDefinition<never>, args: unknown, options: ChildOptions = {}): Promise<T> {
    const name = typeof operation === 'string' ? operation : operation.name
    const { job, traceparent } = this.#attempt
    this.#attempt.throwIfStopped()
    this.#refuseSecrets(name, [args, options])
    const parent = traceparent === undefined ? job : { ...job, traceparent }
    this.#attempt.calledOthers = true
    const begun = () => {
      this.#attempt.othersBegan = true
    }
    return (await this.#parts.callChild(parent, this.#children++, name, args, options, this.signal, begun)) as T
  }

  /**
   * A child call is stored with its arguments and key. A redacted value in place of the secret would only make it fail
   * later.
   */
  #refuseSecrets(name: string, sent: unknown): void {
    if (!this.#attempt.conceals) return
    const text = JSON.stringify(sent)
    if (this.#attempt.cleaned(text) === text) return
    throw new Fault(
      'internal',
      `${this.operation.name.full} sends a secret to ${name}, but a call is stored with its arguments and key. Name the secret in "requires" of ${name} and read it there: child calls can read the secrets of their parent.`,
      { code: 'SECRET_IN_CALL' },
    )
  }

  async object(source: AsyncIterable<Uint8Array> | Uint8Array | string, options: ObjectOptions): Promise<Located> {
    const { redirect = false, direct = false } = options
    const mimeType = this.#attempt.cleaned(options.mimeType)
    const filename = options.filename === undefined ? undefined : this.#attempt.cleaned(options.filename)
    if (!isMediaType(mimeType)) throw unusable(`"${mimeType}" is not a media type`)
    this.#attempt.throwIfStopped()
    // The attempt is part of the name, so that a second attempt does not collide with the bytes of the first one.
    const objectId = `${this.#attempt.job.id}/result-${this.#attempt.number}-${this.#objects++}`
    this.#attempt.storedObjects = true
    await this.#parts.objects.put(objectId, asStream(source, this.#attempt.cleaningBytes()), {
      mimeType,
      maxBytes: this.#parts.maxObjectBytes,
      ...(filename !== undefined && { filename }),
    })
    return new Located({ kind: 'object', objectId, mimeType, redirect, ...(direct && { direct }) })
  }

  chunks<Returned, Value = never>(
    source: ChunkSource<Returned>,
    options: ChunkedOptions<Value> = {},
  ): Chunked<Returned | Value> {
    const { chunked, name } = this.operation
    if (!chunked) throw unusable(`${name.full} calls ctx.chunks(…) but is not declared as "chunked"`)
    const mimeType = options.mimeType === undefined ? chunked.mimeType : this.#attempt.cleaned(options.mimeType)
    if (mimeType === undefined || !isMediaType(mimeType)) throw unusable(`"${mimeType}" is not a media type`)
    // Callers see the declared type before the first piece.
    if (chunked.mimeType !== undefined && mimeType !== chunked.mimeType) {
      throw unusable(
        `${name.full} declares ${chunked.mimeType} but returns ${mimeType} (declare "chunked: true" to allow any type)`,
      )
    }
    return new Chunked(source, mimeType, options.value)
  }

  location(uri: string, { auth, redirect = false }: { auth?: LocationAuth; redirect?: boolean } = {}): Located {
    if (!isLocation(uri)) throw unusable('ctx.location(…) needs an absolute URI')
    return new Located({ kind: 'external', uri, redirect: redirect && auth === undefined, ...(auth && { auth }) })
  }
}

function unauthorized(id: string, message: string, retryable = false): Fault {
  return new Fault('requirements-missing', message, {
    retryable,
    details: { authorization: [id], secrets: [], userId: false },
  })
}

/** A mistake in the handler, which the caller cannot fix. */
function unusable(what: string): Fault {
  return new Fault('internal', `${what}, so the result cannot be used.`, { code: 'UNUSABLE_RESULT' })
}

function undeclared(operation: Operation, what: string): Fault {
  return new Fault('internal', `${operation.name.full} asks for the ${what} but does not name it in "requires".`, {
    code: 'NOT_REQUIRED',
  })
}

type Source = AsyncIterable<Uint8Array> | Uint8Array | string

async function* asStream(source: Source, cleaning: ByteRedactor): AsyncIterable<Uint8Array> {
  if (typeof source === 'string') yield cleaning.push(new TextEncoder().encode(source))
  else if (source instanceof Uint8Array) yield cleaning.push(source)
  else for await (const piece of source) yield cleaning.push(piece)
  yield cleaning.end()
}
