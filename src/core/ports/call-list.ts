/**
 * Reads many calls of a tenant, for the people who operate a server. Calls are ordered by their ids, newest first. An id
 * begins with the time of the call, so an id is also a cursor. A store reads a bounded number of calls for each request,
 * however many it has, and says where to go on.
 */
import { type Instance, startsOf } from '../call/instance.ts'
import { isTerminal, type State } from '../call/state.ts'
import type { FaultKind } from '../fault.ts'

export interface CallList {
  page(query: CallQuery): Promise<CallPage>
  count(query: CountQuery): Promise<CallCount>
  /** `undefined` if the store has no such call. */
  attempts(id: string): Promise<AttemptHistory | undefined>
}

export interface CallFilter {
  /** Default: all. */
  states?: readonly State[]
  /** True: only calls that wait for an approval. False: only others. */
  held?: boolean
  /** A name, which stands for all of its versions, a registry key, or a prefix with `*` at its end. */
  operation?: string
  owner?: string
  /** The code of the fault that ended the call. */
  code?: string
  /** The kind of the fault that ended the call is one of these. */
  kinds?: readonly FaultKind[]
  sessionId?: string
  /** The id of the call whose handler made these. */
  parent?: string
  replayOf?: string
  idempotencyKey?: string
  /** The first million characters of the arguments or of the outcome contain it. Case is ignored. */
  text?: string
  /** How often the handler was started, at least. */
  minStarts?: number
  /** The time from the call's creation to its end or to now, at least. */
  minMs?: number
  /** By the time in the id, in Unix epoch milliseconds: from `since`, before `until`. */
  since?: number
  until?: number
}

export interface CallQuery {
  tenant: string
  filter: CallFilter
  /** Only calls with a lower id. */
  after?: string
  limit: number
  /** Where no index applies to the filter, not more calls than this are looked at. */
  scan: number
}

export interface CallPage {
  calls: readonly ListedCall[]
  /** Pass it as `after` to read on. Absent if there is nothing more. */
  next?: string
  /** False if the page has fewer calls than the limit because `scan` was reached. */
  complete: boolean
}

export type CountBy = 'state' | 'operation' | 'code' | 'owner'

export interface CountQuery extends Omit<CallQuery, 'limit' | 'after'> {
  by?: CountBy
}

export interface CallCount {
  total: number
  /** True if `scan` was reached: there may be more. */
  capped: boolean
  /** The most frequent values first. Calls without a value are in no group. Operations are without their version. */
  groups: readonly { value: string; count: number }[]
}

/** A call without its arguments and its outcome. Both may be large. */
export interface ListedCall
  extends Pick<
    Instance,
    | 'id'
    | 'tenant'
    | 'owner'
    | 'caller'
    | 'requestId'
    | 'sessionId'
    | 'parentId'
    | 'idempotencyKey'
    | 'operation'
    | 'state'
    | 'attempt'
    | 'settled'
    | 'failures'
    | 'progress'
    | 'createdAt'
    | 'expiresAt'
    | 'endedAt'
    | 'extras'
  > {
  /** Of a call that ended with a fault. */
  fault?: { kind: FaultKind; code: string }
}

/** An attempt that did not end its call. */
export interface PastAttempt {
  /** The number of the start, from 1. */
  attempt: number
  outcome: 'failed' | 'cut-off' | 'held'
  /** In a change: if absent, the store adds the time at which a worker took the call. */
  startedAt?: number
  endedAt: number
  code?: string
  message?: string
  /** When the next attempt may begin. */
  retryAt?: number
}

export interface AttemptHistory {
  past: readonly PastAttempt[]
  /** When the attempt that runs, or that ended the call, was started. Absent if there is none. */
  startedAt?: number
}

/** The call is open, and does not run before its approval. */
export function waitsForApproval({ state, attempt, extras }: Pick<Instance, 'state' | 'attempt' | 'extras'>): boolean {
  return extras?.held === true && !isTerminal(state) && startsOf({ attempt, ...(extras && { extras }) }) === 0
}

/** The registry keys that the `operation` of a filter stands for. */
export function keysLike(operation: string): { exact: string } | { prefix: string } {
  if (operation.endsWith('*')) return { prefix: operation.slice(0, -1) }
  return operation.includes('@') ? { exact: operation } : { prefix: `${operation}@` }
}

/** The same as one text. A filter stands for a key if the key and `KEY_END` begin with this text. */
export function keyStart(operation: string): string {
  const like = keysLike(operation)
  return 'exact' in like ? like.exact + KEY_END : like.prefix
}

/** No key contains it. */
export const KEY_END = ' '

/** Arguments and outcomes are stored as JSON, where a quote has a backslash before it. */
export function needleOf(text: string): string {
  return JSON.stringify(text).slice(1, -1).toLowerCase()
}

/** So much of the arguments and of the outcome of a call is searched for a text. */
export const SEARCHED_CHARACTERS = 1_000_000
/** A search ends after so many bytes, even if `scan` allows more calls: lowering the case of 4 MB takes 10 ms. */
export const SEARCHED_BYTES = 4_000_000
