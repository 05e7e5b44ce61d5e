/** Encodes instances as rows: plain columns, and JSON text for values that no query reads. */

import type { MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import { storedFingerprint } from '../../core/call/fingerprint.ts'
import {
  type ExecutionModel,
  faultIn,
  type Instance,
  type InstanceExtras,
  type Outcome,
  type Progress,
} from '../../core/call/instance.ts'
import { isTerminal, type State } from '../../core/call/state.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Alias } from '../../core/ports/store.ts'
import type { KnownOwner } from './owners.ts'
import { digest } from './requests/digest.ts'

export interface InstanceRow {
  /** Refers to the call in the index of request ids. */
  ref: number
  id: string
  owner: number
  request_id: string
  operation: string
  /** Empty if the call has no fingerprint of its own. */
  fingerprint: string
  state: State
  ended: number
  revision: number
  attempt: number
  settled: number
  failures: number
  created_at: number
  expires_at: number
  keep_until: number
  due_at: number | null
  ended_at: number | null
  model: ExecutionModel
  rerunnable: number
  stop_requested: number
  told: number
  args: string
  media: string
  lineage: string
  outcome: string | null
  audit: string | null
  caller: string | null
  session_id: string | null
  parent_id: string | null
  idempotency_key: string | null
  locale: string | null
  traceparent: string | null
  progress: string | null
  extras: string | null
  waiting: string | null
  answer: string | null
  room: string | null
  /** Of a call that ended with a fault. */
  fault_kind: string | null
  fault_code: string | null
  called_by: string | null
  replay_of: string | null
  /** When the attempt that runs, or that ended the call, was begun. Null if that was at its acceptance. */
  begun_at: number | null
  /** The attempts that did not end the call: JSON objects, separated by commas. */
  past: string | null
}

export interface AliasRow {
  request_id: string
  session_id: string | null
  instance_id: string
  expires_at: number
}

/** The columns that differ for every accepted call, in the order of `ownValues`. */
const OWN = [
  'ref',
  'id',
  'owner',
  'request_id',
  'operation',
  'created_at',
  'expires_at',
  'keep_until',
  'due_at',
  'args',
] as const satisfies readonly (keyof InstanceRow)[]

function ownValues(instance: Instance, ref: number, owner: number, args: string): (string | number | null)[] {
  return [
    ref,
    instance.id,
    owner,
    instance.requestId,
    instance.operation,
    instance.createdAt,
    instance.expiresAt,
    instance.keepUntil,
    instance.dueAt ?? null,
    args,
  ]
}

/**
 * Larger arguments are stored with their fingerprint, so that listing or removing many such calls need not hash them.
 */
const LARGE = 2_048

/** About as many characters as an ending adds to a row. */
const ROOM = ' '.repeat(40)

/**
 * The values of nearly every durable call: asynchronous, started at once, without rare fields. They are literals in the
 * statement, because a bound value takes a sixth of a microsecond.
 */
const ALIKE: Readonly<Partial<Record<keyof InstanceRow, string | number>>> = {
  fingerprint: '',
  model: 'async',
  media: '[]',
  lineage: '[]',
  state: 'pending',
  ended: 0,
  revision: 1,
  attempt: 1,
  settled: 0,
  failures: 0,
  rerunnable: 1,
  stop_requested: 0,
  room: ROOM,
}

const VALUES: Readonly<Record<string, (instance: Instance) => string | number | undefined>> = {
  fingerprint: ({ fingerprint = '' }) => fingerprint,
  model: ({ model }) => model,
  media: ({ media }) => encodeList(media),
  lineage: ({ lineage }) => encodeList(lineage),
  state: ({ state }) => state,
  ended: ({ state }) => (isTerminal(state) ? 1 : 0),
  revision: ({ revision }) => revision,
  attempt: ({ attempt }) => attempt,
  settled: ({ settled }) => settled,
  failures: ({ failures }) => failures,
  rerunnable: ({ rerunnable }) => (rerunnable ? 1 : 0),
  stop_requested: ({ stopRequested }) => (stopRequested ? 1 : 0),
  room: ({ state }) => (isTerminal(state) ? undefined : ROOM),
  // Rare fields. Absent is null.
  told: ({ told }) => (told ? 1 : undefined),
  session_id: ({ sessionId }) => sessionId,
  parent_id: ({ parentId }) => parentId,
  idempotency_key: ({ idempotencyKey }) => idempotencyKey,
  locale: ({ locale }) => locale,
  traceparent: ({ traceparent }) => traceparent,
  progress: ({ progress }) => progress && JSON.stringify(progress),
  outcome: ({ outcome }) => outcome && JSON.stringify(outcome),
  extras: ({ extras }) => extras && JSON.stringify(extras),
  ended_at: ({ endedAt }) => endedAt,
  fault_kind: ({ outcome }) => faultIn(outcome)?.kind,
  fault_code: ({ outcome }) => faultIn(outcome)?.code,
  called_by: ({ extras }) => extras?.calledBy,
  replay_of: ({ extras }) => extras?.replayOf,
}

const FURTHER = Object.entries(VALUES).map(([column, read]) => ({
  column,
  read,
  alike: ALIKE[column as keyof InstanceRow],
}))

const ALIKE_LITERALS = Object.entries(ALIKE).map(([column, value]) => [column, literal(value)] as const)
const INSERT_ALIKE = insertInto(ALIKE_LITERALS)
const INSERT_ALIKE_BUT_CALLER = insertInto([...ALIKE_LITERALS, ['caller', '?']])

/**
 * The statement that inserts an instance, and its bound values. There is one statement for each combination of columns.
 * `caller` is set only if it differs from the one stored with the owner.
 */
export function encodeInstance(
  given: Instance,
  ref: number,
  owner: number,
  caller: string | undefined,
): { sql: string; values: (string | number | null)[] } {
  const args = JSON.stringify(given.args)
  const instance = args.length > LARGE ? { ...given, fingerprint: storedFingerprint(digest, given) } : given
  const values = ownValues(instance, ref, owner, args)
  if (FURTHER.every(({ read, alike }) => read(instance) === alike)) {
    if (caller === undefined) return { sql: INSERT_ALIKE, values }
    values.push(caller)
    return { sql: INSERT_ALIKE_BUT_CALLER, values }
  }
  const set: [string, string][] = []
  const add = (column: string, value: string | number | undefined) => {
    if (value === undefined) return
    set.push([column, '?'])
    values.push(value)
  }
  for (const { column, read } of FURTHER) add(column, read(instance))
  add('caller', caller)
  return { sql: insertInto(set), values }
}

function insertInto(further: readonly (readonly [column: string, value: string])[]): string {
  const columns = [...OWN, ...further.map(([column]) => column)]
  const values = [...OWN.map(() => '?'), ...further.map(([, value]) => value)]
  return `INSERT INTO instances (${columns.join(', ')}) VALUES (${values.join(', ')}) ON CONFLICT DO NOTHING`
}

function literal(value: string | number): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

export function textLength(values: readonly (string | number | null)[]): number {
  let length = 0
  for (const value of values) if (typeof value === 'string') length += value.length
  return length
}

/** Nearly always empty. */
function encodeList(list: readonly unknown[]): string {
  return list.length === 0 ? '[]' : JSON.stringify(list)
}

/** Decodes a row, with the owner that it refers to. */
export type Decode = (row: InstanceRow) => Instance

export function decodeInstance(row: InstanceRow, { tenant, owner, caller }: KnownOwner): Instance {
  return {
    id: row.id,
    tenant,
    owner,
    caller: row.caller === null ? caller : (JSON.parse(row.caller) as Caller),
    requestId: row.request_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    operation: row.operation,
    model: row.model,
    args: JSON.parse(row.args) as JsonValue,
    media: JSON.parse(row.media) as MediaInput[],
    ...(row.fingerprint !== '' && { fingerprint: row.fingerprint }),
    ...(row.idempotency_key !== null && { idempotencyKey: row.idempotency_key }),
    lineage: JSON.parse(row.lineage) as string[],
    ...(row.locale !== null && { locale: row.locale }),
    ...(row.traceparent !== null && { traceparent: row.traceparent }),
    state: row.state,
    revision: row.revision,
    attempt: row.attempt,
    settled: row.settled,
    failures: row.failures,
    rerunnable: row.rerunnable === 1,
    stopRequested: row.stop_requested === 1,
    ...(row.told === 1 && { told: true }),
    ...(row.progress !== null && { progress: JSON.parse(row.progress) as Progress }),
    ...(row.outcome !== null && { outcome: JSON.parse(row.outcome) as Outcome }),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    keepUntil: row.keep_until,
    ...(row.due_at !== null && { dueAt: row.due_at }),
    ...(row.extras !== null && { extras: JSON.parse(row.extras) as InstanceExtras }),
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.waiting !== null && { waiting: JSON.parse(row.waiting) as JsonValue }),
    ...(row.answer !== null && { answer: JSON.parse(row.answer) as JsonValue }),
  }
}

/** The instance with the request id, session id and expiry of the alias. */
export function throughAlias(instance: Instance, alias: AliasRow): Instance {
  const { sessionId: _, ...rest } = instance
  return {
    ...rest,
    requestId: alias.request_id,
    expiresAt: alias.expires_at,
    ...(alias.session_id !== null && { sessionId: alias.session_id }),
  }
}

export function encodeAlias(alias: Alias, owner: number): readonly (string | number | null)[] {
  return [owner, alias.requestId, alias.sessionId ?? null, alias.instanceId, alias.expiresAt]
}
