/** What a store must implement: instances, small records, and the audit trail. */

import type { Instance, InstanceExtras, Outcome, Progress } from '../call/instance.ts'
import type { State } from '../call/state.ts'
import type { Weights } from '../fairness/fair-turns.ts'
import type { OwnerCount } from '../fairness/owner-counts.ts'
import type { SharesSnapshot } from '../fairness/slot-shares.ts'
import type { JsonValue } from '../json.ts'
import type { Clock, Log } from './runtime.ts'

/**
 * Opens a store. It may take seconds: a connection is made, a schema is brought up to date. It rejects if the store
 * cannot be used; the server then does not start. The server closes what it opened.
 */
export type OpenStore = (parts: { clock: Clock; log: Log }) => Promise<Store>

/**
 * Keeps instances. Every write is durable when its promise resolves. Many calls at once share one commit, so a store
 * is free to answer them together. A store never judges a transition: it compares and sets.
 */
export interface Store {
  /**
   * Inserts unless the request id or the idempotency key is taken; then it says by whom, and nothing is inserted or
   * written with it. It may take seconds: a call that is accepted with a lease is started only while that lease stands.
   */
  accept(instance: Instance, more?: AcceptMore): Promise<Acceptance>
  /** Lets a further request id of the same owner stand for an instance, until `expiresAt`. */
  alias(alias: Alias): Promise<Created | Taken>
  get(id: string): Promise<Instance | undefined>
  /** By request id, aliases included; an alias answers with its own request id, session and expiry in place. */
  find(tenant: string, owner: string, requestId: string): Promise<Instance | undefined>
  /**
   * Hands out due instances: `pending`, attempt one higher, due again after the lease. Child calls come first. Of the
   * others, tenants come in turn, within a tenant its callers in turn (each with as many calls as its weight says), and
   * a caller's calls in the order they became due. The turns go on from claim to claim. A call whose caller has no share
   * left is passed over. What it costs depends on what is handed out and on how many callers have due calls, not on how
   * many calls there are.
   */
  claim(claim: Claim): Promise<Claimed>
  /** Moves the due time of leases that still stand; says which were lost and which should stop. */
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewal[]>
  /** Compare and set: applied if the state is one of `from` and, where given, the attempt is this one. */
  advance(change: Change): Promise<Advanced>
  /**
   * Stores an answer from outside if something waits for one and none has come, and, where given, so many tries have
   * failed; a call that nobody runs becomes due.
   */
  answer(id: string, answer: JsonValue, failures?: number): Promise<Advanced>
  /** Stores how far an attempt has come; ignored if the attempt is no longer this one. */
  progress(lease: Lease, progress: Progress): Promise<void>
  /**
   * Notes that a caller is about to be told of this call before its end, and returns the call as it then is. It comes
   * before the end or after it, never beside it: a call that is returned unended keeps its end for that caller
   * (`Change.untold`), and one that is returned ended is told as ended.
   */
  tell(id: string): Promise<Instance | undefined>
  /** Asks whichever node runs the instance to stop it; that node learns of it when it extends its lease. */
  requestStop(id: string): Promise<void>
  /**
   * Calls back after committed changes with the instance as it then is. Returns how to end it. Changes that were made
   * through another node's store may merge into one: revisions grow, none comes twice, and the latest always comes.
   */
  watch(id: string, changed: (instance: Instance) => void): () => void
  /** Unended instances past their expiry, oldest first. */
  overdue(limit: number): Promise<readonly Instance[]>
  /**
   * Removes up to `limit` ended instances that are past `keepUntil`, oldest first, in one commit; says how many. It first
   * calls `removeObjects` with the ids of those that may have objects, and waits for it: the bytes go before the row, so
   * that a crash in between leaves no bytes without a row. If that rejects, nothing is removed. An instance that another
   * node has removed meanwhile is passed over.
   */
  expire(limit: number, removeObjects: (ids: readonly string[]) => Promise<void>): Promise<number>
  /**
   * Unended instances, and how many of them have never been started and do not wait for an approval. Nodes ask at
   * intervals, so it must not cost a read of every open instance.
   */
  openCounts(): Promise<OpenCounts>
  /** Small values that are neither calls nor bytes. */
  readonly records: Records
  readonly audit: AuditTrail
  /** Waits for writes under way, then closes. */
  close(): Promise<void>
}

/** Durable values by key. One that is past its expiry is not there, also before it is removed. */
export interface Records {
  /** Replaces what is there, its expiry included; without one it stays until it is removed. */
  put(key: string, value: string, expiresAt?: number): Promise<void>
  get(key: string): Promise<string | undefined>
  /** Writes only if the key is free; says whether it did. */
  add(key: string, value: string, expiresAt?: number): Promise<boolean>
  /** Writes only if the value is still the expected one; says whether it did. */
  replace(key: string, expected: string, value: string, expiresAt?: number): Promise<boolean>
  /** Reads and removes at once: of two who take the same record, one gets it. */
  take(key: string): Promise<string | undefined>
  remove(key: string): Promise<void>
  /** All of them in one commit, if every condition holds; else none. Says which it was. */
  write(changes: readonly RecordChange[]): Promise<boolean>
  /** Those whose key begins so, in the order of their keys, from behind `after`. */
  list(prefix: string, limit: number, after?: string): Promise<readonly { key: string; value: string }[]>
  /** Removes up to `limit` that are past their expiry, and says how many there were. */
  purge(limit: number): Promise<number>
}

/**
 * One record of several that are written together. Conditions look at what was there before all of them; no key is in
 * them twice. It is plain data, so that a store can send it as it is.
 */
export interface RecordChange {
  key: string
  /** Absent: the record is removed. */
  value?: string
  /** Without one it stays until it is removed. */
  expiresAt?: number
  /** What the record must be now, or `null` where there must be none; without it there is no condition. */
  expected?: string | null
}

/** What is done in the same commit as the acceptance of an instance, and not without it. */
export interface AcceptMore {
  /** An instance that first gives up the request id, if it has it: it is found under that no more. */
  over?: string
  records?: readonly RecordChange[]
}

/** Who did what, when and with which outcome; kept longer than the calls themselves, and never shorter. */
export interface AuditTrail {
  append(entry: AuditEntry): Promise<void>
  /** The newest first, from before `before` (an entry's id). */
  list(query: AuditQuery): Promise<readonly AuditEntry[]>
  /** Removes up to `limit` that ended before this time and whose calls are gone; says how many there were. */
  purge(endedBefore: number, limit: number): Promise<number>
}

export interface AuditEntry {
  id: string
  tenant: string
  owner: string
  requestId: string
  operation: string
  /** Of the arguments and attachments: they are not kept here themselves. */
  fingerprint: string
  verdict: 'allow' | 'deny' | 'hold'
  rule?: string
  approvalId?: string
  backend: string
  attempts: number
  /** `complete` or the fault's kind. */
  outcome: string
  code?: string
  startedAt: number
  endedAt: number
}

/** What the trail has of a recorded call beyond what its instance says: its start there is the instance's creation. */
export type AuditEnding = Pick<
  AuditEntry,
  'verdict' | 'rule' | 'approvalId' | 'backend' | 'attempts' | 'outcome' | 'code'
>

export interface AuditQuery {
  tenant: string
  operation?: string
  owner?: string
  before?: string
  limit: number
}

export type Acceptance = Created | Taken | RecordsDiffer

export interface Created {
  kind: 'created'
}

export type Taken =
  /** The owner has used this request id. */
  | { kind: 'request-id-taken'; instance: Instance }
  /** The owner has used this idempotency key for this operation, in whichever version. */
  | { kind: 'key-taken'; instance: Instance }

/** A record that should have been written with it was not as expected. */
export interface RecordsDiffer {
  kind: 'records-differ'
}

export interface Alias {
  tenant: string
  owner: string
  requestId: string
  sessionId?: string
  instanceId: string
  expiresAt: number
}

export interface Claim {
  /** Registry keys this node has: a plain list. What a store remembers of it, it compares by content. */
  operations: readonly string[]
  limit: number
  /** Of these operations no more than so many, child calls not counted. */
  slots?: ReadonlyMap<string, number>
  /** Who holds the slots of the node that asks: no caller is given more than `SlotShares` admits, child calls apart. */
  shares?: SharesSnapshot
  weights?: Weights
  /** Only calls that other calls wait for. */
  onlyChildren?: boolean
  leaseMs: number
}

export interface Claimed {
  instances: readonly Instance[]
  /** When the next one of these operations becomes due; one that is due already only if there was no more room for it. */
  nextDueAt?: number
}

export interface Lease {
  id: string
  attempt: number
}

export interface Renewal extends Lease {
  held: boolean
  stopRequested: boolean
}

export interface Change {
  id: string
  from: readonly State[]
  to: State
  attempt?: number
  outcome?: Outcome
  settled?: number
  failures?: number
  /** When a worker may take it again; absent: never. */
  dueAt?: number
  /** Gives the idempotency key back, for a call whose handler never started, or counts as never started. */
  releaseKey?: boolean
  expiresAt?: number
  keepUntil?: number
  /** In place of the two above if no caller was told of the call before this change. */
  untold?: { expiresAt: number; keepUntil: number }
  endedAt?: number
  extras?: InstanceExtras
  /** `null` clears it, and the answer with it. */
  waiting?: JsonValue | null
  /** Goes into the trail if the change applies, with `endedAt`. */
  audit?: AuditEnding
  /** Written if the change applies; it does not apply unless their conditions hold. */
  records?: readonly RecordChange[]
}

/** `instance` is the row after the change, or as it stands if the change did not apply; absent if there is none. */
export interface Advanced {
  applied: boolean
  instance?: Instance
  /** It did not apply because a record was not as expected; whether it would have otherwise was not looked at. */
  recordsDiffer?: true
}

export interface OpenCounts {
  queued: number
  /** By caller within its tenant. */
  byOwner: readonly OwnerCount[]
  /** By registry key. */
  byOperation: ReadonlyMap<string, number>
}
