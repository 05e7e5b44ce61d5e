/**
 * Short forms of the two messages that nearly every recorded call needs: accepted and begun at once, and complete. They
 * leave out the values that the other side knows or can compute. Other calls are sent in full.
 */

import type { Caller } from '../../core/call/caller.ts'
import type { Instance, Outcome } from '../../core/call/instance.ts'
import { type State, statesBefore } from '../../core/call/state.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { AuditEnding, Change } from '../../core/ports/store.ts'

/** The values that all calls of one caller and one operation share. They are sent once, and then by number. */
type Alike = Pick<Instance, 'tenant' | 'owner' | 'caller' | 'operation' | 'model' | 'rerunnable'>

/** The last 256 numbers are valid. A number is never reused, so a number that is no longer known is noticed. */
const MAX_ALIKE = 256

export type BegunMessage = [
  alike: number,
  id: string,
  requestId: string,
  args: JsonValue,
  createdAt: number,
  /** The next three times are relative to `createdAt`. Small numbers are several times as fast to write and read. */
  expiresIn: number,
  keepFor: number,
  dueIn: number,
  further?: Further,
]

/** Fields that few calls have. */
type Further = Partial<
  Pick<
    Instance,
    'sessionId' | 'parentId' | 'idempotencyKey' | 'fingerprint' | 'locale' | 'traceparent' | 'extras' | 'progress'
  >
>

interface Numbered extends Alike {
  number: number
}

/** Returns nothing for a call that is sent in full. `define` has to reach the other side first. */
export function createBegunEncoder(
  define: (number: number, alike: Alike) => void,
): (instance: Instance) => BegunMessage | undefined {
  const byCaller = new WeakMap<Caller, Map<string, Numbered>>()
  let last = 0

  function numberOf({ tenant, owner, caller, operation, model, rerunnable }: Instance): number {
    const ofCaller = byCaller.get(caller) ?? new Map<string, Numbered>()
    const known = ofCaller.get(operation)
    if (
      known &&
      known.number > last - MAX_ALIKE &&
      known.owner === owner &&
      known.tenant === tenant &&
      known.model === model &&
      known.rerunnable === rerunnable
    )
      return known.number
    const alike = { tenant, owner, caller, operation, model, rerunnable }
    define(++last, alike)
    byCaller.set(caller, ofCaller.set(operation, { number: last, ...alike }))
    return last
  }

  return (instance) => {
    if (!isBegun(instance)) return undefined
    const { id, requestId, args, createdAt, expiresAt, keepUntil, dueAt } = instance
    const message: BegunMessage = [
      numberOf(instance),
      id,
      requestId,
      args,
      createdAt,
      expiresAt - createdAt,
      keepUntil - createdAt,
      (dueAt as number) - createdAt,
    ]
    const further = furtherOf(instance)
    if (further) message.push(further)
    return message
  }
}

export interface BegunDecoder {
  define(number: number, alike: Alike): void
  decode(message: BegunMessage): Instance
}

export function createBegunDecoder(): BegunDecoder {
  const known = new Map<number, Alike>()
  return {
    define(number, alike) {
      known.set(number, alike)
      known.delete(number - MAX_ALIKE)
    },
    decode([number, id, requestId, args, createdAt, expiresIn, keepFor, dueIn, further]) {
      const alike = known.get(number)
      if (!alike) throw new Fault('internal', 'The message names an unknown caller number. Send the call again.')
      const instance: Instance = {
        id,
        tenant: alike.tenant,
        owner: alike.owner,
        caller: alike.caller,
        requestId,
        operation: alike.operation,
        model: alike.model,
        args,
        media: NONE,
        lineage: NONE,
        state: 'pending',
        revision: 1,
        attempt: 1,
        settled: 0,
        failures: 0,
        rerunnable: alike.rerunnable,
        stopRequested: false,
        createdAt,
        expiresAt: createdAt + expiresIn,
        keepUntil: createdAt + keepFor,
        dueAt: createdAt + dueIn,
      }
      return further ? Object.assign(instance, further) : instance
    },
  }
}

const NONE: readonly never[] = []

function isBegun(instance: Instance): boolean {
  return (
    instance.state === 'pending' &&
    instance.attempt === 1 &&
    instance.revision === 1 &&
    instance.settled === 0 &&
    instance.failures === 0 &&
    // Otherwise the difference of two times could be rounded.
    Number.isSafeInteger(instance.createdAt) &&
    Number.isSafeInteger(instance.expiresAt) &&
    Number.isSafeInteger(instance.keepUntil) &&
    Number.isSafeInteger(instance.dueAt) &&
    instance.media.length === 0 &&
    instance.lineage.length === 0 &&
    !instance.stopRequested &&
    !instance.told &&
    instance.outcome === undefined &&
    instance.endedAt === undefined &&
    instance.waiting === undefined &&
    instance.answer === undefined
  )
}

/** Fields may be undefined: JSON leaves them out. */
function furtherOf(instance: Instance): Further | undefined {
  const { sessionId, parentId, idempotencyKey, fingerprint, locale, traceparent, extras, progress } = instance
  const any = sessionId ?? parentId ?? idempotencyKey ?? fingerprint ?? locale ?? traceparent ?? extras ?? progress
  if (any === undefined) return undefined
  return { sessionId, parentId, idempotencyKey, fingerprint, locale, traceparent, extras, progress } as Further
}

type Expiry = Pick<Change, 'expiresAt' | 'keepUntil' | 'untold'>

export type CompleteMessage = [
  id: string,
  attempt: number,
  /** The revision of the call that this process knows. */
  revision: number,
  outcome: Outcome,
  endedAt: number,
  backend: string,
  attempts: number,
  expiry?: Expiry,
]

const BEFORE_COMPLETE: readonly State[] = statesBefore('complete')

/** Returns nothing for a change that has more fields, or for a call that this process does not run. */
export function encodeComplete(change: Change, leased: Instance | undefined): CompleteMessage | undefined {
  const { id, to, attempt, outcome, endedAt, audit, expiresAt, keepUntil, untold } = change
  if (!leased || to !== 'complete' || attempt !== leased.attempt) return undefined
  if (!outcome || endedAt === undefined || !audit || !isPlain(audit) || !isOnlyEnd(change)) return undefined
  const message: CompleteMessage = [id, attempt, leased.revision, outcome, endedAt, audit.backend, audit.attempts]
  if ((expiresAt ?? keepUntil ?? untold) !== undefined) message.push({ expiresAt, keepUntil, untold } as Expiry)
  return message
}

export function decodeComplete(message: CompleteMessage): Change {
  const [id, attempt, , outcome, endedAt, backend, attempts, expiry] = message
  const audit: AuditEnding = { verdict: 'allow', backend, attempts, outcome: 'complete' }
  return { id, from: BEFORE_COMPLETE, to: 'complete', attempt, outcome, endedAt, audit, ...expiry }
}

function isOnlyEnd({ from, releaseKey, settled, failures, dueAt, extras, waiting, records, past }: Change): boolean {
  const more = settled ?? failures ?? dueAt ?? extras ?? records ?? past
  if (releaseKey || more !== undefined || waiting !== undefined || from.length !== BEFORE_COMPLETE.length) return false
  return from.every((state, at) => state === BEFORE_COMPLETE[at])
}

/** No rule applied to the call, and it succeeded. */
function isPlain({ verdict, outcome, rule, approvalId, code, about }: AuditEnding): boolean {
  return verdict === 'allow' && outcome === 'complete' && (rule ?? approvalId ?? code ?? about) === undefined
}
