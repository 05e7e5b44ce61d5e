/** How an instance lies in its row: plain columns, and JSON text for what SQL never looks into. */
import type { JsonValue } from '../../core/json.ts'
import type {
  Caller,
  ExecutionModel,
  Instance,
  InstanceExtras,
  MediaInput,
  Outcome,
  Progress,
} from '../../core/model.ts'
import type { Alias } from '../../core/ports.ts'
import { isTerminal, type State } from '../../core/state.ts'

export interface InstanceRow {
  id: string
  tenant: string
  owner: string
  caller: string
  request_id: string
  session_id: string | null
  parent_id: string | null
  operation: string
  model: ExecutionModel
  args: string
  media: string
  fingerprint: string
  idempotency_key: string | null
  lineage: string
  locale: string | null
  traceparent: string | null
  state: State
  ended: number
  revision: number
  attempt: number
  settled: number
  failures: number
  rerunnable: number
  stop_requested: number
  progress: string | null
  outcome: string | null
  created_at: number
  expires_at: number
  keep_until: number
  due_at: number | null
  extras: string | null
  ended_at: number | null
  waiting: string | null
  answer: string | null
}

export interface AliasRow {
  request_id: string
  session_id: string | null
  instance_id: string
  expires_at: number
}

/** What is written of every call when it is taken in, in the order of `encodeInstance`. */
const COLUMNS = [
  'id',
  'tenant',
  'owner',
  'caller',
  'request_id',
  'operation',
  'model',
  'args',
  'media',
  'fingerprint',
  'lineage',
  'state',
  'ended',
  'revision',
  'attempt',
  'settled',
  'failures',
  'rerunnable',
  'stop_requested',
  'created_at',
  'expires_at',
  'keep_until',
  'due_at',
] as const satisfies readonly (keyof InstanceRow)[]

/** What few calls have when they are taken in. */
const RARE = {
  session_id: ({ sessionId }) => sessionId,
  parent_id: ({ parentId }) => parentId,
  idempotency_key: ({ idempotencyKey }) => idempotencyKey,
  locale: ({ locale }) => locale,
  traceparent: ({ traceparent }) => traceparent,
  progress: ({ progress }) => progress && JSON.stringify(progress),
  outcome: ({ outcome }) => outcome && JSON.stringify(outcome),
  extras: ({ extras }) => extras && JSON.stringify(extras),
  ended_at: ({ endedAt }) => endedAt,
} satisfies Partial<Record<keyof InstanceRow, (instance: Instance) => string | number | undefined>>

const RARE_COLUMNS = Object.entries(RARE) as [string, (instance: Instance) => string | number | undefined][]

/** A row to be inserted: each column that is named costs a microsecond's tenth, so what is null is not. */
export interface EncodedInstance {
  columns: string
  values: (string | number | null)[]
}

const COMMON_COLUMNS = COLUMNS.join(', ')

/** `caller` is given as its text, since many calls have the same one. */
export function encodeInstance(instance: Instance, caller: string): EncodedInstance {
  const values = [
    instance.id,
    instance.tenant,
    instance.owner,
    caller,
    instance.requestId,
    instance.operation,
    instance.model,
    JSON.stringify(instance.args),
    encodeList(instance.media),
    instance.fingerprint,
    encodeList(instance.lineage),
    instance.state,
    isTerminal(instance.state) ? 1 : 0,
    instance.revision,
    instance.attempt,
    instance.settled,
    instance.failures,
    instance.rerunnable ? 1 : 0,
    instance.stopRequested ? 1 : 0,
    instance.createdAt,
    instance.expiresAt,
    instance.keepUntil,
    instance.dueAt ?? null,
  ]
  let columns = COMMON_COLUMNS
  for (const [column, valueOf] of RARE_COLUMNS) {
    const value = valueOf(instance)
    if (value === undefined) continue
    columns += `, ${column}`
    values.push(value)
  }
  return { columns, values }
}

/** Nearly always empty. */
function encodeList(list: readonly unknown[]): string {
  return list.length === 0 ? '[]' : JSON.stringify(list)
}

export function decodeInstance(row: InstanceRow): Instance {
  return {
    id: row.id,
    tenant: row.tenant,
    owner: row.owner,
    caller: JSON.parse(row.caller) as Caller,
    requestId: row.request_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    operation: row.operation,
    model: row.model,
    args: JSON.parse(row.args) as JsonValue,
    media: JSON.parse(row.media) as MediaInput[],
    fingerprint: row.fingerprint,
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

/** The instance as the caller of the alias knows it. */
export function throughAlias(instance: Instance, alias: AliasRow): Instance {
  const { sessionId: _, ...rest } = instance
  return {
    ...rest,
    requestId: alias.request_id,
    expiresAt: alias.expires_at,
    ...(alias.session_id !== null && { sessionId: alias.session_id }),
  }
}

export function encodeAlias(alias: Alias): readonly (string | number | null)[] {
  return [alias.tenant, alias.owner, alias.requestId, alias.sessionId ?? null, alias.instanceId, alias.expiresAt]
}
