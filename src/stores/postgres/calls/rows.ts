/** Instances as rows: plain columns for what statements read or change, and JSON text for the rest. */
import type { MediaInput } from '../../../core/call/call.ts'
import type { Caller } from '../../../core/call/caller.ts'
import {
  type ExecutionModel,
  faultIn,
  type Instance,
  type InstanceDraft,
  type InstanceExtras,
  type Outcome,
} from '../../../core/call/instance.ts'
import { isTerminal, STATES, type State } from '../../../core/call/state.ts'
import { Fault } from '../../../core/fault.ts'
import type { Alias } from '../../../core/ports/store.ts'
import type { BatchColumn } from '../sql/batch-columns.ts'
import { isId } from '../sql/ids.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'
import type { Callers, StoredCaller } from './callers.ts'
import { keyHash, requestKey } from './keys.ts'

/** Letters of the column `state`. */
const LETTERS: Record<State, string> = { accepted: 'a', pending: 'p', streaming: 's', complete: 'c', error: 'e' }
export const BY_LETTER: ReadonlyMap<string, State> = new Map(STATES.map((state) => [LETTERS[state], state]))
export const ALIAS = 'l'

export const letterOf = (state: State): string => LETTERS[state]

/** A list of quoted letters, for a statement. */
export const lettersOf = (states: readonly State[]): string => states.map((state) => `'${LETTERS[state]}'`).join(', ')

export const OPEN = lettersOf(STATES.filter((state) => !isTerminal(state)))
export const ENDED = lettersOf(STATES.filter(isTerminal))

/** The columns of a call as it is read. Named one by one: a newer node may have added others. */
export interface CallRow {
  id: string
  /** Where it is. */
  generation: number
  tenant: string
  owner: string
  caller: string
  request_id: string
  operation: string
  args: string
  fixed: string | null
  state: string
  revision: number
  attempt: number
  settled: number
  failures: number
  stop_requested: boolean
  told: boolean
  created_at: number
  expires_at: number
  keep_until: number
  due_at: number | null
  ended_at: number | null
  extras: string | null
  progress: string | null
  outcome: string | null
  waiting: string | null
  answer: string | null
  /** It has its idempotency key. */
  keyed: boolean
  node: number | null
  mark: number | null
}

const OF_CALL: readonly (keyof CallRow)[] = [
  'id',
  'request_id',
  'operation',
  'args',
  'fixed',
  'state',
  'revision',
  'attempt',
  'settled',
  'failures',
  'stop_requested',
  'told',
  'created_at',
  'expires_at',
  'keep_until',
  'due_at',
  'ended_at',
  'extras',
  'progress',
  'outcome',
  'waiting',
  'answer',
  'node',
  'mark',
]

const OF_CALLER: readonly (keyof CallRow)[] = ['tenant', 'owner', 'caller']

/** The columns of a call. In the statement, its table is `c` and the table of callers is `k`. */
export function columnsOf(generation: number): string {
  const own = OF_CALL.map((column) => `c.${column}`)
  const ofCaller = OF_CALLER.map((column) => `k.${column}`)
  return [...own, ...ofCaller, '(c.key_hash IS NOT NULL) AS keyed', `${generation} AS generation`].join(', ')
}

/** The names of the same columns, in the result of a part of a statement. */
export const COLUMN_NAMES = [...OF_CALL, ...OF_CALLER, 'keyed', 'generation'].join(', ')

/** All calls of a generation. Aliases have no caller, so they are not among them. */
export function selectCalls(tables: Tables, generation: number, more = ''): string {
  return `SELECT ${columnsOf(generation)}${more} FROM ${tables.calls(generation)} c
    JOIN ${tables.callers(generation)} k ON k.hash = c.caller`
}

/** Fields that never change. Values that nearly every call has are left out. */
interface Fixed
  extends Partial<
    Pick<
      Instance,
      | 'sessionId'
      | 'parentId'
      | 'model'
      | 'media'
      | 'fingerprint'
      | 'idempotencyKey'
      | 'lineage'
      | 'locale'
      | 'traceparent'
      | 'rerunnable'
    >
  > {}

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

/** A column with a value that most new calls have, as it is in a statement. */
export interface UsualColumn extends Column {
  usual: string
  /** The same for a call that its node starts at once. Default: `usual`. */
  begun?: string
}

/** Columns that are sent together if a call of a batch needs one of them. */
export interface OptionalColumns {
  columns: readonly UsualColumn[]
  /** `begun`: the node that accepts the call starts it at once. */
  isUsual(call: Encoded, begun: boolean): boolean
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
        begun: quoted('pending'),
        read: stateOf,
        from: (letter) => `${letter}::"char"`,
      },
      { name: 'attempt', type: 'int4', usual: '0', begun: '1', read: ({ instance }) => instance.attempt },
      { name: 'child', type: 'bool', usual: 'false', read: ({ instance }) => instance.lineage.length > 0 },
    ],
    isUsual: ({ instance: { state, attempt, lineage } }, begun) =>
      state === (begun ? 'pending' : 'accepted') && attempt === (begun ? 1 : 0) && lineage.length === 0,
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

export function codeIn(outcome: Outcome | undefined): string | undefined {
  const fault = faultIn(outcome)
  return fault && encodeText(fault.code)
}

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

export function decodeCall(row: CallRow): Instance {
  const fixed = row.fixed === null ? {} : (JSON.parse(row.fixed) as Fixed)
  const instance: InstanceDraft = {
    id: row.id,
    tenant: decodeText(row.tenant),
    owner: decodeText(row.owner),
    caller: JSON.parse(row.caller) as Caller,
    requestId: decodeText(row.request_id),
    operation: decodeText(row.operation),
    model: fixed.model ?? ('async' satisfies ExecutionModel),
    args: JSON.parse(row.args),
    media: fixed.media ?? ([] as MediaInput[]),
    lineage: fixed.lineage ?? [],
    state: BY_LETTER.get(row.state) as State,
    revision: row.revision,
    attempt: row.attempt,
    settled: row.settled,
    failures: row.failures,
    rerunnable: fixed.rerunnable ?? true,
    stopRequested: row.stop_requested,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    keepUntil: row.keep_until,
  }
  const { sessionId, parentId, fingerprint, idempotencyKey, locale, traceparent } = fixed
  if (sessionId !== undefined) instance.sessionId = sessionId
  if (parentId !== undefined) instance.parentId = parentId
  if (fingerprint !== undefined) instance.fingerprint = fingerprint
  if (idempotencyKey !== undefined && row.keyed) instance.idempotencyKey = idempotencyKey
  if (locale !== undefined) instance.locale = locale
  if (traceparent !== undefined) instance.traceparent = traceparent
  if (row.told) instance.told = true
  if (row.due_at !== null) instance.dueAt = row.due_at
  if (row.ended_at !== null) instance.endedAt = row.ended_at
  if (row.extras !== null) instance.extras = JSON.parse(row.extras) as InstanceExtras
  if (row.progress !== null) instance.progress = JSON.parse(row.progress)
  if (row.outcome !== null) instance.outcome = JSON.parse(row.outcome)
  if (row.waiting !== null) instance.waiting = JSON.parse(row.waiting)
  if (row.answer !== null) instance.answer = JSON.parse(row.answer)
  return instance
}

/** A further request id of a call. */
export interface AliasRow {
  request_key: string
  alias_of: string
  request_id: string
  expires_at: number
  /** JSON with the session id, if it has one. */
  fixed: string | null
}

/** The call as it is found by an alias. */
export function decodeAliased(row: CallRow, alias: AliasRow): Instance {
  const { sessionId: _own, ...rest } = decodeCall(row)
  const { sessionId } = alias.fixed === null ? {} : (JSON.parse(alias.fixed) as Fixed)
  return {
    ...rest,
    requestId: decodeText(alias.request_id),
    expiresAt: alias.expires_at,
    ...(sessionId !== undefined && { sessionId }),
  }
}

export function encodeAliasFixed({ sessionId }: Alias): string | null {
  return sessionId === undefined ? null : JSON.stringify({ sessionId })
}
