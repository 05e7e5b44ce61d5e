/** What a protocol may read of the operations there are: by their own names, and under the names of tools. */
import type { Operation, Tombstone } from '../operation.ts'

export interface Catalog {
  /** By the name that a caller uses, or by registry key. Throws `unknown-operation` or `removed`. */
  resolve(name: string, now: number): Operation
  /** What every caller may see now: the highest version under each name, without those past their sunset. */
  list(now: number): readonly Operation[]
  /** The same for the internal operations. They are for callers that have their scopes. */
  listInternal(now: number): readonly Operation[]
  /** What every caller may know to be gone by now: past its sunset, or defined as removed. */
  listRemoved(now: number): readonly Tombstone[]
  /** When the next version of an operation passes its sunset, if ever. */
  nextChangeAt(now: number): number | undefined
  /** Every version of every operation, in the order of their definition. The array stays the same until they change. */
  readonly operations: readonly Operation[]
  /** Whether a caller without a credential may call anything here. */
  readonly hasPublic: boolean
  /** Calls back each time operations come or go, until the returned function is called. */
  watch(changed: () => void): () => void
}

/** Operations under the names that tool-shaped protocols give them. */
export interface Tools {
  /** By tool id and full version. Without a version, the highest there is. */
  byId(id: string, version: string | undefined, now: number): Operation | undefined
  /** By tool name: `orders_getItem` is the newest major, `orders_getItem_v1` that one. */
  byName(name: string, now: number): Operation | undefined
  /** One entry for each name that stands for itself, in the order of their names. */
  list(now: number): readonly Tool[]
  /** Every version of every tool, in the order of their ids. */
  versions(now: number): readonly Tool[]
}

export interface Tool {
  /** `orders.getItem`, without a version. */
  id: string
  /** `orders_getItem` */
  name: string
  operation: Operation
}
