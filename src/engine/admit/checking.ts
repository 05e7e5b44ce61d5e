/**
 * Foresees what a call would get: whether its arguments are valid, what the guards decide, and what it lacks. It runs
 * nothing, counts nothing, writes nothing, and contacts nothing outside. The steps are those of `admission.ts`.
 */
import { type Caller, ownerOf } from '../../core/call/caller.ts'
import { checkSize, checkType, slotFor } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { checkRequirements, NOTHING_GIVEN } from '../../core/operation/requirements.ts'
import type { Authorizations, Decision, Guard } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Limits } from '../limits/limits.ts'
import type { Approvals } from '../wait/approvals.ts'
import { type Admitted, approvalRequest } from './admitted.ts'
import { admitAll } from './guards.ts'
import { decideAll, denied } from './verdicts.ts'

export interface CheckingParts {
  env: Environment
  guards: readonly Guard[]
  limits: Limits
  authorizations?: Pick<Authorizations, 'holds'>
}

/** An attachment that would be sent. */
export interface MediaNote {
  name: string
  mimeType: string
  bytes?: number
  /** The address, if the call would send a reference and not the bytes. */
  ref?: string
}

/** The call that would be made. */
export interface Asked {
  /** The operation as the caller names it. */
  op: string
  args: JsonValue
  media: readonly MediaNote[]
}

interface Parsed extends Asked {
  parsed: unknown
}

export interface Problem {
  /** A JSON Pointer into the arguments, or to the name of an attachment. */
  path: string
  message: string
  in?: 'media'
}

export interface Foreseen {
  errors: Problem[]
  /** The arguments as the handler would get them. Absent if they are not valid. */
  normalized?: JsonValue
  verdict: Decision['verdict']
  rule?: string
  reason?: string
  /** Scopes, and requirements as `authorization:id`, `secret:id` and `userId`. */
  missing: string[]
  /** An earlier approval that the call would use. */
  approval?: string
  /** The first fault that would refuse the call. */
  refusal?: Fault
}

export class Checking {
  readonly #parts: CheckingParts
  readonly #approvals: Approvals
  readonly #deciders: readonly Guard[]

  constructor(parts: CheckingParts, approvals: Approvals) {
    this.#parts = parts
    this.#approvals = approvals
    this.#deciders = parts.guards.filter((guard) => guard.decide)
  }

  /** Throws only if the caller may not know of the operation. */
  async check(operation: Operation, caller: Caller, asked: Asked): Promise<Foreseen> {
    const seen: Foreseen = { errors: [], verdict: 'allow', missing: [] }
    const note = (thrown: unknown): Fault => {
      const fault = Fault.from(thrown)
      seen.refusal ??= fault
      return fault
    }
    const admission = await caught(() => admitAll(this.#parts.guards, caller, operation, asked.op))
    if (admission) {
      if (admission.kind === 'unknown-operation') throw admission
      const fault = note(admission)
      seen.verdict = 'deny'
      seen.reason = fault.message
      seen.missing.push(...textsIn(fault.details?.missing))
    }
    const rate = await caught(() => this.#parts.limits.rates.foreseeCall(caller.tenant, ownerOf(caller)))
    if (rate) note(rate)
    const parsed = await this.#validate(operation, asked, seen, note)
    if (!parsed || admission) return seen
    await this.#decide(operation, caller, { ...asked, parsed: parsed.value }, seen, note)
    return seen
  }

  async #validate(
    operation: Operation,
    { args, media }: Asked,
    seen: Foreseen,
    note: (thrown: unknown) => Fault,
  ): Promise<{ value: unknown } | undefined> {
    let parsed: { value: unknown } | undefined
    try {
      parsed = { value: await operation.parseArgs(copyJson(args)) }
    } catch (thrown) {
      seen.errors.push(...problemsIn(note(thrown)))
    }
    for (const fault of mediaFaults(operation, media)) {
      note(fault)
      seen.errors.push({ path: `/${String(fault.details?.name ?? '')}`, message: fault.message, in: 'media' })
    }
    if (!parsed || seen.errors.length > 0) return undefined
    const normalized = asJson(parsed.value)
    if (normalized !== undefined) seen.normalized = normalized
    return parsed
  }

  async #decide(
    operation: Operation,
    caller: Caller,
    asked: Parsed,
    seen: Foreseen,
    note: (thrown: unknown) => Fault,
  ): Promise<void> {
    const { args, parsed } = asked
    const guards = this.#deciders.filter((guard) => guard.concerns?.(operation) ?? true)
    let decision: Decision | undefined
    const failed = await caught(async () => {
      decision = await decideAll(guards, { caller, operation, args, parsed })
    })
    if (failed) seen.verdict = 'deny'
    if (decision) Object.assign(seen, ruled(decision))
    if (failed || decision?.verdict === 'deny') {
      note(failed ?? denied(operation, decision as Decision))
      return
    }
    await this.#require(operation, caller, seen, note)
    if (decision?.verdict === 'hold') await this.#hold(operation, caller, asked, decision, seen, note)
    const room = await caught(() => this.#requireRoom(operation, caller, seen.verdict === 'hold'))
    if (room) note(room)
  }

  async #require(
    operation: Operation,
    caller: Caller,
    seen: Foreseen,
    note: (thrown: unknown) => Fault,
  ): Promise<void> {
    if (!operation.requires) return
    const { authorizations } = this.#parts
    // A token that is stored counts, although the provider may refuse to renew it.
    const stored = authorizations && {
      token: async (...need: Parameters<Authorizations['holds']>) =>
        (await authorizations.holds(...need)) ? 'stored' : undefined,
    }
    const lack = await caught(() => checkRequirements(operation, caller, NOTHING_GIVEN, stored))
    if (!lack) return
    const { authorization, secrets, userId } = note(lack).details ?? {}
    seen.missing.push(
      ...textsIn(authorization).map((id) => `authorization:${id}`),
      ...textsIn(secrets).map((id) => `secret:${id}`),
      ...(userId === true ? ['userId'] : []),
    )
  }

  /** An earlier approval of the same call lets it run. Otherwise it waits, if the caller may have one more that waits. */
  async #hold(
    operation: Operation,
    caller: Caller,
    asked: Parsed,
    decision: Decision,
    seen: Foreseen,
    note: (thrown: unknown) => Fault,
  ): Promise<void> {
    const refused = await caught(async () => {
      const admitted = foreseenCall(operation, caller, asked)
      const grant = await this.#approvals.unused(approvalRequest(this.#parts.env, admitted, decision))
      if (!grant) return this.#approvals.foreseeReserve(caller)
      seen.verdict = 'allow'
      seen.approval = grant.id
    })
    if (refused) note(refused)
  }

  #requireRoom(operation: Operation, caller: Caller, held: boolean): void {
    const { limits } = this.#parts
    const who = { tenant: caller.tenant, owner: ownerOf(caller) }
    const { model, sideEffecting, ttlSeconds, stream } = operation
    const recorded = model === 'async' || sideEffecting || ttlSeconds > 0 || held
    if (recorded && !stream) limits.requireRoom(who, !held && model === 'async' && !limits.hasSlot(operation, who))
  }
}

function foreseenCall(operation: Operation, caller: Caller, { op, args, parsed, media: notes }: Parsed): Admitted {
  // The bytes are not here, so no earlier approval of a call with attachments is found.
  const media = notes.map(({ name, mimeType, bytes = 0, ref }) => ({
    name,
    mimeType,
    source:
      ref === undefined
        ? { kind: 'object' as const, objectId: '', bytes, sha256: '' }
        : { kind: 'ref' as const, uri: ref },
  }))
  const call = { operation: op, args, media, requestId: '' }
  return { id: '', call, operation, caller, tenant: caller.tenant, owner: ownerOf(caller), parsed, media }
}

function ruled({ verdict, rule, reason }: Decision): Pick<Foreseen, 'verdict' | 'rule' | 'reason'> {
  return { verdict, ...(rule !== undefined && { rule }), ...(reason !== undefined && { reason }) }
}

function* mediaFaults(operation: Operation, media: readonly MediaNote[]): Iterable<Fault> {
  for (const { name, mimeType, bytes } of media) {
    try {
      const slot = slotFor(operation, name)
      checkType(slot, mimeType)
      if (bytes !== undefined) checkSize(slot, bytes)
    } catch (thrown) {
      yield Fault.from(thrown)
    }
  }
  for (const { name, required } of operation.media) {
    if (!required || media.some((note) => note.name === name)) continue
    const message = `${operation.name.full} needs the attachment "${name}".`
    yield new Fault('invalid-input', message, { code: 'MEDIA_REQUIRED', details: { name } })
  }
}

function problemsIn({ details, message }: Fault): Problem[] {
  const issues = Array.isArray(details?.issues) ? details.issues.filter(isJsonObject) : []
  if (issues.length === 0) return [{ path: '', message }]
  return issues.map(({ path, message: text }: JsonObject) => ({ path: String(path), message: String(text) }))
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** A schema's output can be a value that JSON does not have. */
function asJson(value: unknown): JsonValue | undefined {
  try {
    const text = JSON.stringify(value)
    return text === undefined ? undefined : (JSON.parse(text) as JsonValue)
  } catch {
    return undefined
  }
}

async function caught(act: () => unknown): Promise<Fault | undefined> {
  try {
    await act()
    return undefined
  } catch (thrown) {
    return Fault.from(thrown)
  }
}
