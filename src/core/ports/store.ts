/** What a store must implement: instances, small records, and the audit trail. */

import type { Instance, InstanceExtras, Outcome, Progress } from '../call/instance.ts'
import type { State } from '../call/state.ts'
import type { Weights } from '../fairness/fair-turns.ts'
import type { OwnerCount } from '../fairness/owner-counts.ts'
import type { SharesSnapshot } from '../fairness/slot-shares.ts'
import type { JsonValue } from '../json.ts'
import type { CallList, PastAttempt } from './call-list.ts'
import type { NodeFacts, NodeInfo } from './nodes.ts'
import type { Peers } from './peers.ts'
import type { Clock, Log } from './runtime.ts'
import type { StoreDump } from './store-dump.ts'

/**
 * Opens a store. This may take seconds, for example to connect or to upgrade a schema. It rejects if the store cannot
 * be used, and then the server does not start. The server closes the store that it opened. `about` reads what the server
 * tells of itself, for a store that lists its nodes.
 */
export type OpenStore = (parts: { clock: Clock; log: Log; about?: () => NodeFacts }) => Promise<Store>

/**
 * Stores instances. Every write is durable when its promise resolves. A store may put many concurrent writes into one
 * commit and resolve them together. A store never decides about a transition: it compares and sets.
 *
 * Every time that crosses this port is a reading of the store's own clock, `now()`. Nodes with different wall clocks
 * therefore agree on leases and expiry. docs/decisions/0016-the-stores-clock.md.
 */
export interface Store {
  /**
   * The store's clock, in Unix epoch milliseconds. It answers at once: a store on a database server follows the
   * server's clock from here.
   */
  now(): number
  /**
   * Inserts the instance. If its request id or idempotency key is taken, returns the instance that has it and writes
   * nothing. This may take seconds. A call that is accepted with a lease is started only while the lease is valid.
   */
  accept(instance: Instance, more?: AcceptMore): Promise<Acceptance>
  /** Adds a further request id of the same owner for an instance, until `expiresAt`. */
  alias(alias: Alias): Promise<Created | Taken>
  get(id: string): Promise<Instance | undefined>
  /** Finds by request id or alias. An instance found by an alias has the alias's request id, session and expiry. */
  find(tenant: string, owner: string, requestId: string): Promise<Instance | undefined>
  /**
   * Hands out due instances: sets them to `pending`, increases the attempt by one and makes them due again after the
   * lease. Child calls come first. For the others, tenants alternate, and within a tenant its callers alternate, each
   * with as many calls as its weight. A caller's calls come in the order in which they became due. The next claim
   * continues where the last one stopped. A call whose caller has no share left is skipped. The cost depends on the
   * number of calls handed out and of callers with due calls, not on the number of stored calls.
   */
  claim(claim: Claim): Promise<Claimed>
  /** Moves the due time of leases that are still held. Reports which are lost and which calls should stop. */
  extend(leases: readonly Lease[], leaseMs: number): Promise<readonly Renewal[]>
  /** Compare and set: applies if the state is one of `from` and, if `attempt` is set, the attempt is the same. */
  advance(change: Change): Promise<Advanced>
  /**
   * Stores an answer from outside if the call waits for one and has none yet. If `failures` is set, the call must have
   * that number of failures. A call that no worker runs becomes due.
   */
  answer(id: string, answer: JsonValue, failures?: number): Promise<Advanced>
  /** Stores the progress of an attempt. Ignored if the attempt is no longer the current one. */
  progress(lease: Lease, progress: Progress): Promise<void>
  /**
   * Marks the call as told, because a caller is about to get a reply before its end, and returns the call. The mark and
   * the end are ordered: if the returned call is open, its outcome is kept for that caller (see `Change.untold`); if it
   * has ended, the caller gets the outcome.
   */
  tell(id: string): Promise<Instance | undefined>
  /** Requests a stop. The node that runs the instance gets the request when it extends its lease. */
  requestStop(id: string): Promise<void>
  /**
   * Calls `changed` with the instance after every committed change. Returns a function that ends the watch. Several
   * changes by another node may be reported as one. Revisions increase, none is reported twice, and the latest always
   * is.
   */
  watch(id: string, changed: (instance: Instance) => void): () => void
  /**
   * Calls `changed` with every instance that this process changes, after the commit. Returns a function that ends it.
   * Changes by other processes need not be reported.
   */
  listen(changed: (instance: Instance) => void): () => void
  /** Unended instances past their expiry, oldest first. */
  overdue(limit: number): Promise<readonly Instance[]>
  /**
   * Removes ended instances that are past `keepUntil`: up to `limit` of them, oldest first, in one commit. It first calls
   * `removeObjects` with the ids of those that may have objects, and waits for it: the bytes are removed before the row,
   * so that a crash in between leaves no bytes without a row. If `removeObjects` rejects, nothing is removed. An instance
   * that another node has removed meanwhile is skipped.
   *
   * A store with very many instances may remove them in groups, each when nearly all of the group are past `keepUntil`.
   * It then names the ids of a group in slices, one slice in each call, and removes the group after the last one.
   *
   * Returns the number of instances that it removed or named. If that is `limit` or more, call it again.
   */
  expire(limit: number, removeObjects: (ids: readonly string[]) => Promise<void>): Promise<number>
  /**
   * Counts the open instances, and how many of them have never been started and do not wait for an approval. Nodes call
   * this at intervals, so it must not read every open instance.
   */
  openCounts(): Promise<OpenCounts>
  /** Small values that are neither calls nor bytes. */
  readonly records: Records
  readonly audit: AuditTrail
  /** Reads many calls, for operators. */
  readonly calls: CallList
  /** The other nodes on this store. Absent if one server uses the store alone. */
  readonly peers?: Peers
  /** The version of the schema that this program knows. Absent if the store has no such thing. */
  readonly schema?: number
  /** The living nodes on this store, this one included. Absent if one server uses the store alone. */
  nodes?(): Promise<readonly NodeInfo[]>
  /**
   * Looks for reasons why this node should get no calls, although the store can be written. Nodes ask at intervals.
   * Absent if the store knows none.
   */
  troubles?(): Promise<readonly StoreTrouble[]>
  /** Absent if the store cannot be moved into another one. */
  readonly dump?: StoreDump
  /** Wakes the workers of other nodes. Absent if one server uses the store alone. */
  readonly wakeUps?: WakeUps
  /** Absent if one server uses the store alone. */
  readonly nodeEnds?: NodeEnds
  /** Waits for the writes under way, then closes the store. */
  close(): Promise<void>
}

export type StoreTrouble =
  /** The schema is older than this program, as after a restored backup. */
  | 'migrations-pending'
  /** The schema needs a newer program. */
  | 'schema-newer'
  /** The clock of the store was set back. This node's time is ahead until the clock has caught up. */
  | 'clock-jumped'

/** Hints between nodes. They may be lost: every node also looks for due calls at intervals. */
export interface WakeUps {
  /** Tells the other nodes that calls are due now. */
  send(): void
  /** `woken` is called when another node has sent one. */
  receive(woken: () => void): void
}

/** For a server that starts several processes on one store, each a node, and sees when they end. */
export interface NodeEnds {
  /** `told` is called with the number of this node: at once, and when the node goes on under another number. */
  tellNumber(told: (node: number) => void): void
  /**
   * Takes over from a node whose process has ended: its calls are due at once, and its slots are free. Safe to call
   * again. A process that is alive all the same goes on under another number, and its calls are fenced by their attempts.
   */
  ended(node: number): Promise<void>
}

/** Durable values by key. A record past its expiry counts as absent, even before it is removed. */
export interface Records {
  /** Replaces the value and its expiry. Without `expiresAt` the record stays until it is removed. */
  put(key: string, value: string, expiresAt?: number): Promise<void>
  get(key: string): Promise<string | undefined>
  /** Writes only if there is no such record. Returns true if it wrote. */
  add(key: string, value: string, expiresAt?: number): Promise<boolean>
  /** Writes only if the value is still the expected one. Returns true if it wrote. */
  replace(key: string, expected: string, value: string, expiresAt?: number): Promise<boolean>
  /** Reads and removes at once: if two callers take the same record, only one gets it. */
  take(key: string): Promise<string | undefined>
  remove(key: string): Promise<void>
  /** Writes all changes in one commit if every condition holds, otherwise none. Returns true if it wrote. */
  write(changes: readonly RecordChange[]): Promise<boolean>
  /** The records whose keys begin with `prefix` and follow `after`, in the order of their keys. */
  list(prefix: string, limit: number, after?: string): Promise<readonly { key: string; value: string }[]>
  /** Removes up to `limit` records that are past their expiry. Returns their number. */
  purge(limit: number): Promise<number>
}

/**
 * One of several records that are written together. All conditions apply to the state before the first change. A key
 * occurs only once. It is plain data, so that a store can send it unchanged.
 */
export interface RecordChange {
  key: string
  /** If absent, the record is removed. */
  value?: string
  /** If absent, the record stays until it is removed. */
  expiresAt?: number
  /** The required current value, or `null` if there must be no record. If absent, there is no condition. */
  expected?: string | null
}

/** Terms of an acceptance. The changes are in its commit, and made only if the instance is accepted. */
export interface AcceptMore {
  /** The id of an instance that first gives up this request id, if it has it. It is no longer found by it. */
  over?: string
  records?: readonly RecordChange[]
  /**
   * This process claims the call as soon as it has a slot, with a lease of this length. So a store may write that claim
   * in the same commit, for up to a second, and hand out the call later. If this process does not claim it by then,
   * calls `wakeUps.send`, stops or dies, others can claim it.
   */
  leaseAheadMs?: number
}

/** Which caller ran which operation, when, and with which outcome. An entry is kept at least as long as its call. */
export interface AuditTrail {
  append(entry: AuditEntry): Promise<void>
  /** Newest first, starting before the entry with the id `before`. */
  list(query: AuditQuery): Promise<readonly AuditEntry[]>
  /**
   * The lowest id down to which a list of this tenant reads about `entries` entries, starting before `before`. It bounds
   * a search for entries that are rare. `undefined` if there are fewer.
   */
  horizon(query: Pick<AuditQuery, 'tenant' | 'before'>, entries: number): Promise<string | undefined>
  /** Removes up to `limit` entries that ended before this time and whose calls are removed. Returns their number. */
  purge(endedBefore: number, limit: number): Promise<number>
}

export interface AuditEntry {
  id: string
  tenant: string
  owner: string
  requestId: string
  operation: string
  /** A hash of the arguments and attachments, which are not kept here. */
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
  /**
   * For the server's own operations: the call that it was about, and which part of it was shown; that calls were searched
   * for a text; and why an operator did it.
   */
  about?: { call?: string; part?: string; searched?: true; why?: string }
}

/** The fields of an audit entry that are not in the instance. `startedAt` is the instance's creation. */
export type AuditEnding = Pick<
  AuditEntry,
  'verdict' | 'rule' | 'approvalId' | 'backend' | 'attempts' | 'outcome' | 'code' | 'about'
>

export interface AuditQuery {
  tenant: string
  /** As in the filter of a list of calls. */
  operation?: string
  owner?: string
  before?: string
  /** The lowest id. */
  from?: string
  /** Only entries with these values. */
  matching?: AuditMatch
  limit: number
}

export type AuditMatch = Partial<Pick<AuditEntry, 'verdict' | 'outcome' | 'code' | 'rule' | 'requestId'>>

export type Acceptance = Created | Taken | RecordsDiffer

export interface Created {
  kind: 'created'
}

export type Taken =
  /** The owner has used this request id. */
  | { kind: 'request-id-taken'; instance: Instance }
  /** The owner has used this idempotency key for a version of this operation. */
  | { kind: 'key-taken'; instance: Instance }

/** A record of `AcceptMore.records` did not have the expected value. */
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
  /** The registry keys of this node. A store that caches the list has to compare it by content. */
  operations: readonly string[]
  limit: number
  /** The highest number of calls for some operations, not counting child calls. */
  slots?: ReadonlyMap<string, number>
  /** The holders of the node's slots. No caller gets more than `SlotShares` admits, not counting child calls. */
  shares?: SharesSnapshot
  weights?: Weights
  /** Only calls that other calls wait for. */
  onlyChildren?: boolean
  leaseMs: number
}

export interface Claimed {
  instances: readonly Instance[]
  /** When the next call of these operations is due. In the past only if the limit left a due call unclaimed. */
  nextDueAt?: number
  /** The store has not looked everywhere, and wants to be asked again at this time. */
  askAgainAt?: number
  /**
   * Operations whose `slots` left due calls unclaimed, each with the number of such calls or a lower number, at least 1.
   * Calls of callers without a share do not count.
   */
  lacking?: readonly (readonly [operation: string, calls: number])[]
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
  /** When a worker may claim it again. If absent, never. */
  dueAt?: number
  /** Frees the idempotency key, for a call whose handler never started or counts as never started. */
  releaseKey?: boolean
  expiresAt?: number
  keepUntil?: number
  /** Replaces the two times above if no caller was told of the call before this change. */
  untold?: { expiresAt: number; keepUntil: number }
  endedAt?: number
  extras?: InstanceExtras
  /** `null` clears it, and the answer with it. */
  waiting?: JsonValue | null
  /** Added to the history of the call's attempts. */
  past?: PastAttempt
  /** Added to the audit trail with `endedAt`, if the change applies. */
  audit?: AuditEnding
  /** Written if the change applies. The change applies only if their conditions hold. */
  records?: readonly RecordChange[]
}

/**
 * `instance` is the row after the change, or the current row if the change did not apply. Absent if there is no row.
 */
export interface Advanced {
  applied: boolean
  instance?: Instance
  /** The change did not apply because a record did not have the expected value. The instance was not compared. */
  recordsDiffer?: true
}

export interface OpenCounts {
  queued: number
  /** By caller within its tenant. */
  byOwner: readonly OwnerCount[]
  /** By registry key. */
  byOperation: ReadonlyMap<string, number>
}
