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

/** What every call has its own of when it is taken in, in the order of `ownValues`. */
const OWN = [
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

/** `caller` is given as its text, since many calls have the same one. */
function ownValues(instance: Instance, caller: string): (string | number | null)[] {
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
    instance.dueAt ?? null,
  ]
}

/**
 * What nearly every durable call has alike: asynchronous, started at once, and with nothing that few have. That stands
 * in the statement, since a value that is bound takes a sixth of a microsecond.
 */
const ALIKE: Readonly<Partial<Record<keyof InstanceRow, string | number>>> = {
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
}

const VALUES: Readonly<Record<string, (instance: Instance) => string | number | undefined>> = {
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
  // What few have; absent is null.
  session_id: ({ sessionId }) => sessionId,
  parent_id: ({ parentId }) => parentId,
  idempotency_key: ({ idempotencyKey }) => idempotencyKey,
  locale: ({ locale }) => locale,
  traceparent: ({ traceparent }) => traceparent,
  progress: ({ progress }) => progress && JSON.stringify(progress),
  outcome: ({ outcome }) => outcome && JSON.stringify(outcome),
  extras: ({ extras }) => extras && JSON.stringify(extras),
  ended_at: ({ endedAt }) => endedAt,
}

const FURTHER = Object.entries(VALUES).map(([column, read]) => ({
  column,
  read,
  alike: ALIKE[column as keyof InstanceRow],
}))

const INSERT_ALIKE = insertInto(Object.entries(ALIKE).map(([column, value]) => [column, literal(value)]))

/** The statement that inserts an instance, and what is bound to it. There are as many statements as shapes of calls. */
export function encodeInstance(
  instance: Instance,
  caller: string,
): { sql: string; values: (string | number | null)[] } {
  const values = ownValues(instance, caller)
  if (FURTHER.every(({ read, alike }) => read(instance) === alike)) return { sql: INSERT_ALIKE, values }
  const set: [string, string][] = []
  for (const { column, read } of FURTHER) {
    const value = read(instance)
    if (value === undefined) continue
    set.push([column, '?'])
    values.push(value)
  }
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
