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

/**
 * Nearly every durable call is this when it is taken in: asynchronous, started at once, and with nothing that few have.
 * What is always the same stands in the statement, since a value that is bound takes a sixth of a microsecond.
 */
const USUAL_COLUMNS = [
  'id',
  'tenant',
  'owner',
  'caller',
  'request_id',
  'operation',
  'args',
  'fingerprint',
  'created_at',
  'expires_at',
  'keep_until',
  'due_at',
] as const satisfies readonly (keyof InstanceRow)[]

const USUALLY = {
  model: "'async'",
  media: "'[]'",
  lineage: "'[]'",
  state: "'pending'",
  ended: '0',
  revision: '1',
  attempt: '1',
  settled: '0',
  failures: '0',
  rerunnable: '1',
  stop_requested: '0',
} satisfies Partial<Record<keyof InstanceRow, string>>

export const INSERT_USUAL = `INSERT INTO instances (${[...USUAL_COLUMNS, ...Object.keys(USUALLY)].join(', ')})
  VALUES (${[...USUAL_COLUMNS.map(() => '?'), ...Object.values(USUALLY)].join(', ')}) ON CONFLICT DO NOTHING`

/** The values of a usual one; nothing for any other. */
export function encodeUsual(instance: Instance, caller: string): (string | number)[] | undefined {
  const { dueAt } = instance
  if (dueAt === undefined || !isUsual(instance)) return undefined
  return [
    instance.id,
    instance.tenant,
    instance.owner,
    caller,
    instance.requestId,
    instance.operation,
    JSON.stringify(instance.args),
    instance.fingerprint,
    instance.createdAt,
    instance.expiresAt,
    instance.keepUntil,
    dueAt,
  ]
}

function isUsual(instance: Instance): boolean {
  const { media, lineage, extras, outcome, progress } = instance
  return (
    instance.model === 'async' &&
    instance.state === 'pending' &&
    instance.attempt === 1 &&
    instance.revision === 1 &&
    instance.settled + instance.failures + media.length + lineage.length === 0 &&
    instance.rerunnable &&
    !instance.stopRequested &&
    !extras &&
    !outcome &&
    !progress &&
    instance.idempotencyKey === undefined &&
    instance.sessionId === undefined &&
    instance.parentId === undefined &&
    instance.locale === undefined &&
    instance.traceparent === undefined &&
    instance.endedAt === undefined
  )
}

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
  for (const [column, read] of RARE_COLUMNS) {
    const value = read(instance)
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
