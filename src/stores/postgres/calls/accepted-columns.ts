/** Accepted calls as rows: the columns that are sent for them, and their values. */
import { faultIn, type Instance } from '../../../core/call/instance.ts'
import type { State } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { BatchColumn } from '../sql/batch-columns.ts'
import { isId } from '../sql/ids.ts'
import { encodeText } from '../sql/plain-text.ts'
import type { Callers, StoredCaller } from './callers.ts'
import { keyHash, requestKey } from './keys.ts'
import { codeIn, type Fixed, letterOf } from './rows.ts'

/** A column of an accepted call. */
export interface Column extends BatchColumn<Encoded> {
  /** From the value that is sent. Default: the value itself. */
  from?: (sent: string) => string
}

export interface Encoded {
  instance: Instance
  caller: StoredCaller
  /** 32 digits. */
  requestKey: string
  keyHash: string | undefined
  args: string
  fixed: string | null
  /** When it became due, if this node claims it in the commit that accepts it. */
  dueAt?: number
}

/** Throws if a field is not JSON. */
export function encodeCall(instance: Instance, callers: Callers): Encoded {
  const { id, tenant, owner, requestId } = instance
  if (!isId(id)) throw new Fault('internal', `The instance id ${id} is no UUID. Check newId of the environment.`)
  return {
    instance,
    caller: callers.encode(instance),
    requestKey: requestKey(tenant, owner, requestId),
    keyHash: keyHash(instance),
    args: JSON.stringify(instance.args),
    fixed: encodeFixed(instance),
  }
}

function encodeFixed(instance: Instance): string | null {
  const { sessionId, parentId, model, media, fingerprint, idempotencyKey, lineage, locale, traceparent, rerunnable } =
    instance
  const fixed: { -readonly [Field in keyof Fixed]: Fixed[Field] } = {}
  if (sessionId !== undefined) fixed.sessionId = sessionId
  if (parentId !== undefined) fixed.parentId = parentId
  if (model !== 'async') fixed.model = model
  if (media.length > 0) fixed.media = media
  if (fingerprint !== undefined) fixed.fingerprint = fingerprint
  if (idempotencyKey !== undefined) fixed.idempotencyKey = idempotencyKey
  if (lineage.length > 0) fixed.lineage = lineage
  if (locale !== undefined) fixed.locale = locale
  if (traceparent !== undefined) fixed.traceparent = traceparent
  if (!rerunnable) fixed.rerunnable = rerunnable
  for (const _ in fixed) return JSON.stringify(fixed)
  return null
}

const WHO = 0
const WHAT = 1

/** A time after the call's creation. The calls of an operation differ in their times, but not in these spans. */
function later(name: string, read: (instance: Instance) => number | undefined): Column {
  return {
    name,
    type: 'int8',
    group: WHAT,
    read({ instance }) {
      const time = read(instance)
      return time === undefined ? null : time - instance.createdAt
    },
    from: (span) => `u.created_at + ${span}`,
  }
}

/** The columns that differ from call to call. */
export const ALWAYS_COLUMNS: readonly Column[] = [
  { name: 'id', type: 'uuid', read: ({ instance }) => instance.id },
  { name: 'request_key', type: 'uuid', read: (call) => call.requestKey },
  { name: 'caller', type: 'uuid', group: WHO, read: (call) => call.caller.hash },
  { name: 'request_id', type: 'text', read: ({ instance }) => encodeText(instance.requestId) },
  { name: 'operation', type: 'text', group: WHAT, read: ({ instance }) => encodeText(instance.operation) },
  { name: 'args', type: 'text', read: (call) => call.args },
  { name: 'created_at', type: 'int8', read: ({ instance }) => instance.createdAt },
  later('expires_at', ({ expiresAt }) => expiresAt),
  later('keep_until', ({ keepUntil }) => keepUntil),
  later('due_at', ({ dueAt }) => dueAt),
]

/**
 * `fresh`: this node starts the call at once, and it gets no row in `due`. `waiting`: the same for a new call that waits
 * for a slot of this node. `queued`: a new call that any node may take. `rare`: a call with a history.
 */
export type InsertKind = 'fresh' | 'waiting' | 'queued' | 'rare'

/** A column with a value that most new calls have, as it is in a statement. */
export interface UsualColumn extends Column {
  usual: string
  /** The same for a call that this node claims at once. Default: `usual`. */
  fresh?: string
  waiting?: string
}

/** Columns that are sent together if a call of a batch needs one of them. */
export interface OptionalColumns {
  columns: readonly UsualColumn[]
  isUsual(call: Encoded, kind: InsertKind): boolean
}

export const OPTIONAL_COLUMNS: readonly OptionalColumns[] = [
  {
    columns: [{ name: 'key_hash', type: 'uuid', usual: 'NULL', read: (call) => call.keyHash ?? null }],
    isUsual: (call) => call.keyHash === undefined,
  },
  {
    columns: [{ name: 'fixed', type: 'text', usual: 'NULL', read: (call) => call.fixed }],
    isUsual: (call) => call.fixed === null,
  },
  {
    columns: [
      { name: 'extras', type: 'text', usual: 'NULL', read: ({ instance }) => textOf(instance.extras) },
      { name: 'held', type: 'bool', usual: 'false', read: ({ instance }) => instance.extras?.held === true },
      { name: 'called_by', type: 'uuid', usual: 'NULL', read: ({ instance }) => idIn(instance.extras?.calledBy) },
      { name: 'replay_of', type: 'uuid', usual: 'NULL', read: ({ instance }) => idIn(instance.extras?.replayOf) },
    ],
    isUsual: ({ instance }) => instance.extras === undefined,
  },
  {
    columns: [
      {
        name: 'state',
        type: 'text',
        usual: quoted('accepted'),
        fresh: quoted('pending'),
        read: stateOf,
        from: (letter) => `${letter}::"char"`,
      },
      {
        name: 'attempt',
        type: 'int4',
        usual: '0',
        fresh: '1',
        waiting: '1',
        read: ({ instance }) => instance.attempt,
      },
      { name: 'child', type: 'bool', usual: 'false', read: ({ instance }) => instance.lineage.length > 0 },
    ],
    isUsual: ({ instance: { state, attempt, lineage } }, kind) =>
      state === (kind === 'fresh' ? 'pending' : 'accepted') &&
      attempt === (kind === 'queued' ? 0 : 1) &&
      lineage.length === 0,
  },
]

function stateOf({ instance }: Encoded): string {
  return letterOf(instance.state)
}

function quoted(state: State): string {
  return `'${letterOf(state)}'`
}

/** The columns that have a usual value in a new call. */
export const RARE_COLUMNS: readonly UsualColumn[] = [
  { name: 'revision', type: 'int4', usual: '1', read: ({ instance }) => instance.revision },
  { name: 'settled', type: 'int4', usual: '0', read: ({ instance }) => instance.settled },
  { name: 'failures', type: 'int4', usual: '0', read: ({ instance }) => instance.failures },
  { name: 'stop_requested', type: 'bool', usual: 'false', read: ({ instance }) => instance.stopRequested },
  { name: 'told', type: 'bool', usual: 'false', read: ({ instance }) => instance.told === true },
  { name: 'ended_at', type: 'int8', usual: 'NULL', read: ({ instance }) => instance.endedAt ?? null },
  { name: 'progress', type: 'text', usual: 'NULL', read: ({ instance }) => textOf(instance.progress) },
  { name: 'outcome', type: 'text', usual: 'NULL', read: ({ instance }) => textOf(instance.outcome) },
  { name: 'waiting', type: 'text', usual: 'NULL', read: ({ instance }) => textOf(instance.waiting) },
  { name: 'answer', type: 'text', usual: 'NULL', read: ({ instance }) => textOf(instance.answer) },
  { name: 'fault_kind', type: 'text', usual: 'NULL', read: ({ instance }) => faultIn(instance.outcome)?.kind ?? null },
  { name: 'fault_code', type: 'text', usual: 'NULL', read: ({ instance }) => codeIn(instance.outcome) ?? null },
]

/** For `encodeArray`. A text that is no id names no call. */
function idIn(id: string | undefined): string | null {
  return id !== undefined && isId(id) ? id : null
}

export function isUsual(instance: Instance): boolean {
  const { revision, settled, failures, stopRequested, told, endedAt, progress, outcome, waiting, answer } = instance
  const isNew = revision === 1 && settled === 0 && failures === 0 && !stopRequested && !told
  const isEmpty = progress === undefined && outcome === undefined && waiting === undefined && answer === undefined
  return isNew && isEmpty && endedAt === undefined
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
