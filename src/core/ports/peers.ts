/** The ports between the processes of one server, and between the nodes that share a store. */
import type { BucketRules } from '../fairness/buckets.ts'
import type { OwnerCount } from '../fairness/owner-counts.ts'
import type { SlotOwner } from '../fairness/slot-shares.ts'
import type { Fault } from '../fault.ts'

/**
 * Limits that several processes count together. The hub of a server with several workers implements it, and so does a
 * store that several machines share. No more than `most` slots of an operation are taken at once. A lease frees the
 * slots and the counts of a process that is gone. Waiting processes get slots in the order of their requests. A token
 * bucket applies its rules over all processes, or exceeds them by a documented bound. `counted` may arrive late and
 * merged, because the limits on open calls are counted again from the store at intervals.
 */
export interface SharedLimits {
  /** True if each process limits the polls of a call for itself. */
  readonly pollsApart?: boolean
  /** Takes one token. Returns 0, or the milliseconds to wait for the token. */
  takeToken(bucket: BucketRules, key: string): number | Promise<number>
  /**
   * Takes one of `most` slots of this operation. If none is free and `waits` is true, the next free slot is reserved
   * for this process.
   */
  enter(operation: string, most: number, waits: boolean): boolean | Promise<boolean>
  /** Counts a call that runs even if no slot is free. */
  entered(operation: string): void
  leave(operation: string): void
  /**
   * Reports `calls` more open calls of this caller or, without a caller, in the queue. The other processes receive it
   * later.
   */
  counted(who: SlotOwner | undefined, calls: number): void
  listen(listener: SharedLimitsListener): void
}

export interface SharedLimitsListener {
  counted(open: Iterable<OwnerCount>, queued: number): void
  /** A slot of this operation is reserved for this process, until the process leaves it. */
  kept(operation: string): void
}

/**
 * The other processes or nodes. Messages to them may arrive late or never, so nothing may depend on them. A stop
 * request is in the store as well (`Store.requestStop`), and the node that runs the call reads it at the next lease
 * renewal.
 */
export interface Siblings {
  /** Asks the process that runs this call to stop it. */
  stop(id: string, why: Fault): void
  /** Sets the function that stops a call if this process runs it. */
  listen(stop: (id: string, why: Fault) => void): void
  /**
   * Registers `here` for queries from the others. Returns a function that resolves to true if it holds in any of them,
   * and to false if none of them says so in time.
   */
  anyoneElse(topic: string, here: (about: string) => boolean): (about: string) => Promise<boolean>
  /** A set that all share. Additions reach the others after a short delay. */
  sharedSet(name: string): Pick<Set<string>, 'add' | 'has'>
}

/**
 * Pipes between two processes. The process that runs a stream forwards frames through one to the process that has the
 * reader. A pipe has no back-pressure: its users bound the messages under way.
 */
export interface Pipes {
  /** The name of this process for `open` in the others. A restarted process has another name. */
  readonly here: string
  /** Opens a pipe to the process of this name. `undefined` if that process is gone, cannot be reached, or refuses. */
  open(about: string, at: string): Promise<Pipe | undefined>
  /** Sets the function that accepts pipes in this process. It must set the receiver of a pipe before it returns true. */
  accept(accepts: (about: string, pipe: Pipe) => Promise<boolean>): void
}

/** The side that opened the pipe sends first. Messages arrive in order, and none is lost while the pipe is open. */
export interface Pipe {
  /** Aborts when either side has closed the pipe, or when the other process has ended or cannot be reached. */
  readonly signal: AbortSignal
  /** Messages to a closed pipe are discarded. */
  send(message: PipeMessage): void
  receive(receiver: (message: PipeMessage) => void): void
  close(): void
}

/** Text, bytes, or an object of JSON values. */
export type PipeMessage = string | Uint8Array | object

/** The other processes of a server with workers, or the other nodes on a store that several machines share. */
export interface Peers {
  readonly limits: SharedLimits
  readonly siblings: Siblings
  /** Absent: a reader must reach the process that runs its stream. */
  readonly pipes?: Pipes
}
