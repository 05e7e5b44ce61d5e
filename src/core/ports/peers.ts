/** The other processes of the same server. */
import type { BucketRules } from '../fairness/buckets.ts'
import type { Fault } from '../fault.ts'

/**
 * What the processes of one server count together. The hub of a server with several workers implements it. An
 * implementation on a store, for several machines, has to do the same: no more than `most` slots of an operation are taken at once;
 * a slot and the counts of a process that has gone are free again, by a lease; waiting processes get slots in the order
 * they came; a token bucket gives out no more than its rules say, over all processes. `counted` may arrive late and
 * merged, since the limits on open calls are counted anew from the store at intervals.
 */
export interface SharedLimits {
  /** Takes one token: 0, or how many milliseconds to wait for it. */
  takeToken(bucket: BucketRules, key: string): Promise<number>
  /** One of `most` slots of this operation. If there is none and the process waits, the next one is kept for it. */
  enter(operation: string, most: number, waits: boolean): Promise<boolean>
  /** The same for a call that runs in any case. */
  entered(operation: string): void
  leave(operation: string): void
  /** So many more calls of this owner are open, or, without an owner, in the queue. The others learn it in a moment. */
  counted(owner: string | undefined, calls: number): void
  listen(listener: SharedLimitsListener): void
}

export interface SharedLimitsListener {
  counted(open: Iterable<readonly [owner: string, calls: number]>, queued: number): void
  /** A slot of this operation is this process's, until it leaves. */
  kept(operation: string): void
}

/**
 * The other processes of this server. It is a shortcut: what they are told may come late or never, and nothing may depend
 * on it. A stop request is in the store as well (`Store.requestStop`), and its node learns of it with the next renewal.
 */
export interface Siblings {
  /** Whichever runs this call is to stop it. */
  stop(id: string, why: Fault): void
}
