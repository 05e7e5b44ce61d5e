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
import type { Alias } from '../../../core/ports/store.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'
import type { Tables } from '../tables.ts'

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
export interface Fixed
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

export function codeIn(outcome: Outcome | undefined): string | undefined {
  const fault = faultIn(outcome)
  return fault && encodeText(fault.code)
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
