/**
 * Implements the port `core/ports/calls.ts` for protocols, on top of the engine and `FollowUp`. The duties that all
 * protocols share are implemented here.
 */
import type { Call } from '../core/call/call.ts'
import { ANONYMOUS, type Caller } from '../core/call/caller.ts'
import type { Answers, Questions } from '../core/call/questions.ts'
import { refuseReadOnly } from '../core/call/read-only.ts'
import type { Reply } from '../core/call/reply.ts'
import type { ReplyAddress } from '../core/call/reply-address.ts'
import { Fault } from '../core/fault.ts'
import type { Operation } from '../core/operation/operation.ts'
import { NOTHING_GIVEN, personOf } from '../core/operation/requirements.ts'
import type {
  CallOptions,
  Calls,
  ChunkReply,
  FoundObject,
  OwedReply,
  PendingApproval,
  Wait,
} from '../core/ports/calls.ts'
import type { StreamReader } from '../core/ports/frames.ts'
import type { Authorizations, Identify } from '../core/ports/guard.ts'
import type { Environment } from '../core/ports/runtime.ts'
import { type Engine, shuttingDown } from './engine.ts'
import { withChallenges } from './follow/challenges.ts'
import type { FollowUp } from './follow/follow-up.ts'
import type { Waiters } from './follow/waiters.ts'
import { approvalStatusPath } from './wait/approval-links.ts'

export interface InboundParts {
  engine: Engine
  followUp: FollowUp
  env: Environment
  waiters: Waiters
  /** Absent if no provider is configured. */
  authorizations?: Pick<Authorizations, 'challenge'>
}

export function createCalls(parts: InboundParts): Calls {
  return new InboundCalls(parts)
}

const NO_OPTIONS: CallOptions = {}

class InboundCalls implements Calls {
  readonly #parts: InboundParts

  constructor(parts: InboundParts) {
    this.#parts = parts
  }

  call(call: Call, identify: Identify, options = NO_OPTIONS): Reply | Promise<Reply> {
    if (options.cancelsWhenGone) return this.#callAndStay(call, identify, options)
    return this.#call(call, identify, options)
  }

  /** A call that ends at once, as most sync calls do, needs no promise. */
  #call(call: Call, identify: Identify, options: CallOptions): Reply | Promise<Reply> {
    try {
      const replying = this.#parts.engine.call(call, identify, options)
      if (!(replying instanceof Promise) && isDone(replying)) return replying
      return this.#finish(replying, call, identify, options)
    } catch (thrown) {
      if (!lacksAuthorization(thrown)) throw thrown
      return this.#challenge(thrown, call, identify, options).then(refuse)
    }
  }

  async #finish(
    replying: Reply | Promise<Reply>,
    call: Call,
    identify: Identify,
    options: CallOptions,
  ): Promise<Reply> {
    const startedMs = options.untilEnd ? this.#parts.env.clock.monotonicMs() : 0
    try {
      const first = await replying
      const reply =
        options.untilEnd && !hasEnded(first) ? await this.#untilEnd(first, startedMs, identify, options) : first
      if (reply.state !== 'error' || !lacksAuthorization(reply.fault)) return reply
      return { ...reply, fault: await this.#challenge(reply.fault, call, identify, options) }
    } catch (thrown) {
      throw lacksAuthorization(thrown) ? await this.#challenge(thrown, call, identify, options) : thrown
    }
  }

  /** Waits on, because an operation may stop waiting sooner than the client does. */
  async #untilEnd(
    { requestId }: Reply,
    startedMs: number,
    identify: Identify,
    { holdMs = 0, client }: CallOptions,
  ): Promise<Reply> {
    const { followUp, env } = this.#parts
    const waitMs = startedMs + holdMs - env.clock.monotonicMs()
    const caller = (await identify()) ?? ANONYMOUS
    return followUp.untilEnd(caller, requestId, { waitMs, ...(client && { client }) })
  }

  /**
   * Adds the authorization URLs for the person for whom the call acts. Throws a fault if the provider cannot be
   * reached.
   */
  async #challenge(fault: Fault, call: Call, identify: Identify, options: CallOptions): Promise<Fault> {
    const { engine, env, authorizations } = this.#parts
    const { client, given = NOTHING_GIVEN } = options
    if (!client) return fault
    const operation = engine.registry.resolve(call.operation, env.clock.now())
    const person = personOf((await identify()) ?? ANONYMOUS, given)
    return withChallenges(fault, operation, person, client, authorizations)
  }

  /**
   * Cancels the call when the client leaves, unless the same request is waiting on another connection, such as the one
   * that replaced a broken one. The engine itself enforces a client's deadline.
   */
  async #callAndStay(call: Call, identify: Identify, options: CallOptions): Promise<Reply> {
    const { followUp, env, waiters } = this.#parts
    const { requestId } = call
    const caller = (await identify()) ?? ANONYMOUS
    const signal = options.client?.signal
    const waiter = waiters.enter(caller, requestId)
    const cancelIfLast = async () => {
      if (await waiter.leave()) await followUp.cancel(caller, requestId)
    }
    const leave = () => {
      if (signal?.reason instanceof Fault && signal.reason.kind === 'timeout') return
      cancelIfLast().catch((err) => env.log.warn({ err, requestId }, 'could not cancel a call after its client left'))
    }
    signal?.addEventListener('abort', leave, { once: true })
    try {
      return await this.#call(call, identify, options)
    } finally {
      signal?.removeEventListener('abort', leave)
      waiter[Symbol.dispose]()
    }
  }

  oweReply(address: ReplyAddress): OwedReply {
    return this.#parts.engine.owed.owe(address)
  }

  admit(name: string, identify: Identify): Promise<Operation> {
    return this.#parts.engine.admit(name, identify)
  }

  newCallId(identify: Identify): Promise<string> {
    return this.#parts.engine.newCallId(identify)
  }

  count(identify: Identify): Promise<void> {
    return this.#parts.engine.count(identify)
  }

  get draining(): boolean {
    return this.#parts.engine.draining
  }

  hasToldOf(refusal: Fault): boolean {
    return this.#parts.engine.hasToldOf(refusal)
  }

  poll(caller: Caller | undefined, requestId: string, wait?: Wait): Promise<Reply> {
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.poll(owner, requestId, wait))
  }

  async *watch(caller: Caller | undefined, requestId: string, signal: AbortSignal): AsyncIterable<Reply> {
    try {
      yield* this.#parts.followUp.watch(caller ?? ANONYMOUS, requestId, signal)
    } catch (thrown) {
      throw await this.#orUnauthenticated(thrown, caller, requestId)
    }
  }

  async cancel(caller: Caller | undefined, requestId: string): Promise<Reply> {
    refuseReadOnly(caller, 'cancel calls')
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.cancel(owner, requestId))
  }

  async callOff(caller: Caller | undefined, requestId: string): Promise<void> {
    refuseReadOnly(caller, 'cancel calls')
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.callOff(owner, requestId))
  }

  known(caller: Caller | undefined, requestId: string): Promise<{ sessionId?: string } | undefined> {
    return this.#parts.followUp.known(caller ?? ANONYMOUS, requestId)
  }

  chunk(caller: Caller | undefined, requestId: string, position: () => number): Promise<ChunkReply> {
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.chunk(owner, requestId, position))
  }

  async object(caller: Caller | undefined, objectId: string): Promise<FoundObject> {
    try {
      return await this.#parts.followUp.object(caller ?? ANONYMOUS, objectId)
    } catch (thrown) {
      throw isNotFound(thrown) && !caller ? needsItsCredential() : thrown
    }
  }

  linkedObject(objectId: string): Promise<FoundObject> {
    return this.#parts.followUp.object(undefined, objectId)
  }

  async readStream(caller: Caller | undefined, reader: StreamReader): Promise<void> {
    const { engine } = this.#parts
    if (engine.draining) throw shuttingDown()
    try {
      await engine.readers.connect(reader, caller ?? ANONYMOUS)
    } catch (thrown) {
      throw isNotFound(thrown) && !caller ? needsItsCredential() : thrown
    }
  }

  async unsubscribe(
    caller: Caller | undefined,
    which: { requestId: string } | { sessionId: string },
  ): Promise<string[]> {
    refuseReadOnly(caller, 'end streams')
    const { followUp } = this.#parts
    if ('sessionId' in which) return followUp.unsubscribeSession(caller ?? ANONYMOUS, which.sessionId)
    const { requestId } = which
    return this.#own(caller, requestId, (owner) => followUp.unsubscribe(owner, requestId))
  }

  questions(caller: Caller | undefined, requestId: string): Promise<Questions | undefined> {
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.questions(owner, requestId))
  }

  async answer(caller: Caller | undefined, requestId: string, answers: Answers): Promise<void> {
    refuseReadOnly(caller, 'answer questions')
    return this.#own(caller, requestId, (owner) => this.#parts.followUp.answer(owner, requestId, answers))
  }

  async pendingApproval(tenant: string, id: string): Promise<PendingApproval | undefined> {
    const { approvals } = this.#parts.engine
    const approval = await approvals.get(tenant, id)
    return approval && approvals.isPending(approval) ? approval : undefined
  }

  approvalPath(tenant: string, id: string): string {
    return approvalStatusPath(this.#parts.env, tenant, id)
  }

  async #own<T>(caller: Caller | undefined, requestId: string, act: (owner: Caller) => Promise<T>): Promise<T> {
    try {
      return await act(caller ?? ANONYMOUS)
    } catch (thrown) {
      throw await this.#orUnauthenticated(thrown, caller, requestId)
    }
  }

  /**
   * Without a credential, only calls of public operations are found. If such a call exists, a missing part of it is
   * `not-found`.
   */
  async #orUnauthenticated(thrown: unknown, caller: Caller | undefined, requestId: string): Promise<unknown> {
    if (caller || !isNotFound(thrown) || (await this.known(caller, requestId))) return thrown
    return needsItsCredential()
  }
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === 'not-found'
}

function needsItsCredential(): Fault {
  return new Fault('unauthenticated', 'Send the credential that was used for the call.')
}

/** If a retry may get a new token, the person need not authorize again. */
function lacksAuthorization(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && thrown.kind === 'requirements-missing' && !thrown.retryable
}

function isDone(reply: Reply): boolean {
  return reply.state === 'complete' || (reply.state === 'error' && !lacksAuthorization(reply.fault))
}

function hasEnded(reply: Reply): boolean {
  return reply.state === 'complete' || reply.state === 'error'
}

function refuse(fault: Fault): never {
  throw fault
}
