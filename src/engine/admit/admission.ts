/**
 * From a named operation to a call that may run: asks the guards, validates the arguments and attachments, and applies
 * the decision of the policy. Creates a promise only if a guard or a schema does.
 */

import type { Call, MediaInput } from '../../core/call/call.ts'
import { ANONYMOUS, type Caller, ownerOf } from '../../core/call/caller.ts'
import { checkMedia } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import { copyJson } from '../../core/json.ts'
import { isKeyed } from '../../core/operation/keyed.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { checkAnswers, checkRequirements, NOTHING_GIVEN } from '../../core/operation/requirements.ts'
import type { Decision, Guard, Identify } from '../../core/ports/guard.ts'
import type { Store } from '../../core/ports/store.ts'
import type { AttemptParts } from '../attempt/job.ts'
import { auditRefusal } from '../end/audit.ts'
import { faultOutcome } from '../end/end-faults.ts'
import type { RunOptions } from '../record/recorder.ts'
import { MOST_TRIES } from '../wait/approval-book.ts'
import { contended } from '../wait/approval-faults.ts'
import type { Approvals } from '../wait/approvals.ts'
import { type Admitted, approvalRequest } from './admitted.ts'
import { admitAll } from './guards.ts'
import { decideAll, denied } from './verdicts.ts'

export interface AdmissionParts extends Pick<AttemptParts, 'env' | 'fetcher' | 'authorizations' | 'observer'> {
  store: Pick<Store, 'audit'>
  guards: readonly Guard[]
}

export class Admission {
  readonly #parts: AdmissionParts
  readonly #approvals: Approvals
  readonly #deciders: readonly Guard[]
  readonly #decidersOf = new WeakMap<Operation, readonly Guard[]>()
  readonly #toldOf = new WeakSet<Fault>()
  #lastCaller: Caller | undefined
  #lastOwner = ''

  constructor(parts: AdmissionParts, approvals: Approvals) {
    this.#parts = parts
    this.#approvals = approvals
    this.#deciders = parts.guards.filter((guard) => guard.decide)
  }

  /** Caches the owner string of the last caller, because building and hashing a new string for every call is slow. */
  ownerOf(caller: Caller): string {
    if (caller !== this.#lastCaller) {
      this.#lastCaller = caller
      this.#lastOwner = ownerOf(caller)
    }
    return this.#lastOwner
  }

  /** The caller, if it may call this operation. Otherwise throws a fault. `name` is the operation as the caller named it. */
  admit(operation: Operation, identify: Identify, name?: string): Caller | Promise<Caller> {
    const identified = identify()
    if (identified instanceof Promise) return identified.then((caller) => this.#admitCaller(operation, caller, name))
    return this.#admitCaller(operation, identified, name)
  }

  #admitCaller(operation: Operation, identified: Caller | undefined, name?: string): Caller | Promise<Caller> {
    const caller = identified ?? (operation.public ? ANONYMOUS : undefined)
    if (!caller) throw new Fault('unauthenticated', `${operation.name.full} needs authentication. Send a credential.`)
    const objections = admitAll(this.#parts.guards, caller, operation, name)
    return objections ? objections.then(() => caller) : caller
  }

  validate(operation: Operation, caller: Caller, call: Call, options: RunOptions): Admitted | Promise<Admitted> {
    // From a copy: a handler may change its arguments, and the call is read again for a record, a retry and the log.
    const parsed = operation.parseArgs(copyJson(call.args))
    const needsMore = parsed instanceof Promise || call.media.length + operation.media.length > 0
    if (needsMore) return this.#validateFurther(operation, caller, call, options, parsed)
    return this.#decide(operation, caller, call, parsed, call.media, options)
  }

  async #validateFurther(
    operation: Operation,
    caller: Caller,
    call: Call,
    options: RunOptions,
    parsing: unknown,
  ): Promise<Admitted> {
    const parsed = await parsing
    const signal = () => (options.client ?? STAYS).signal
    const media = await checkMedia(operation, call.media, this.#parts.fetcher, signal)
    return this.#decide(operation, caller, call, parsed, media, options)
  }

  #decide(
    operation: Operation,
    caller: Caller,
    call: Call,
    parsed: unknown,
    media: readonly MediaInput[],
    { freezes = false, hold = false, renewed = false, given, owed }: RunOptions,
  ): Admitted | Promise<Admitted> {
    if (operation.idempotencyRequired && call.idempotencyKey === undefined) {
      const message = `${operation.name.full} has side effects. Send an idempotency key, so that a repeat does not run it again.`
      throw new Fault('invalid-input', message, { code: 'IDEMPOTENCY_KEY_REQUIRED' })
    }
    const deciders = this.#concerned(operation)
    const decided =
      deciders.length > 0 ? decideAll(deciders, { caller, operation, args: call.args, parsed }) : undefined
    const keyed = freezes || call.idempotencyKey === undefined || isKeyed(operation)
    const owner = this.ownerOf(caller)
    const admitted: Admitted = {
      id: call.uploads ?? this.#parts.env.newCallId(caller.tenant, owner),
      call: keyed ? call : withoutKey(call),
      operation,
      caller,
      tenant: caller.tenant,
      owner,
      parsed,
      media,
    }
    if (given) admitted.given = given
    if (owed) admitted.replyTo = owed.address
    if (!decided && !operation.requires) return admitted
    // A stream begins when its reader is there, so it does not wait for an approval: the caller calls again.
    return this.#rule(admitted, decided, hold && !operation.stream, renewed)
  }

  /** The guards that may have an opinion about this operation. Most operations have none. */
  #concerned(operation: Operation): readonly Guard[] {
    if (this.#deciders.length === 0) return this.#deciders
    const known = this.#decidersOf.get(operation)
    if (known) return known
    const concerned = this.#deciders.filter((guard) => guard.concerns?.(operation) ?? true)
    this.#decidersOf.set(operation, concerned)
    return concerned
  }

  /** Applies the guards' decision and checks the operation's requirements. */
  async #rule(
    admitted: Admitted,
    decided: Decision | undefined | Promise<Decision | undefined>,
    hold: boolean,
    renewed: boolean,
  ): Promise<Admitted> {
    const { operation, caller, given = NOTHING_GIVEN } = admitted
    const decision = await decided
    if (decision?.verdict === 'deny') {
      throw await this.#accountForRefusal(admitted, decision, denied(operation, decision))
    }
    if (operation.requires) {
      await checkRequirements(operation, caller, given, this.#parts.authorizations)
      checkAnswers(operation, admitted.call.asking, this.#parts.env)
    }
    if (!decision) return admitted
    if (decision.verdict !== 'hold') return { ...admitted, decision }
    return renewed ? { ...admitted, decision, held: true } : this.#askApproval(admitted, decision, hold)
  }

  /** A refusal is in the audit trail before the caller gets it. */
  async #accountForRefusal(admitted: Admitted, decision: Decision, why: Fault): Promise<Fault> {
    const { env, store, observer } = this.#parts
    const { operation, call } = admitted
    const entry = auditRefusal(env, admitted, decision, why)
    await store.audit.append(entry)
    const trace = call.traceparent !== undefined && { traceparent: call.traceparent }
    if (observer?.executed) {
      observer.executed(operation, { entry, outcome: faultOutcome(why), ...trace })
      this.#toldOf.add(why)
    }
    return why
  }

  /** True if this refusal was reported to the observer as the end of an execution. */
  hasToldOf(refusal: Fault): boolean {
    return this.#toldOf.has(refusal)
  }

  /**
   * Uses an earlier approval if there is one. Otherwise the call waits for an approval, or is refused until there is
   * one.
   */
  async #askApproval(admitted: Admitted, decision: Decision, hold: boolean, tries = 1): Promise<Admitted> {
    try {
      if (tries > MOST_TRIES) throw contended()
      const request = approvalRequest(this.#parts.env, admitted, decision)
      const key = admitted.call.idempotencyKey
      const grant = hold ? await this.#approvals.unused(request) : await this.#approvals.use(request, key)
      if (!grant) return { ...admitted, decision, held: true }
      const askAgain = () => this.#askApproval(admitted, decision, hold, tries + 1)
      return { ...admitted, decision, grant, askAgain }
    } catch (thrown) {
      throw await this.#accountForRefusal(admitted, decision, Fault.from(thrown))
    }
  }
}

function withoutKey({ idempotencyKey: _, ...call }: Call): Call {
  return call
}

/** A client that never leaves. */
const STAYS = {
  get signal() {
    return new AbortController().signal
  },
}
