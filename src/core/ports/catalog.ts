/** What a protocol can read about operations: by operation name, and by tool name. */
import type { Operation, Tombstone } from '../operation/operation.ts'

export interface Catalog {
  /**
   * Looks up an operation by the name that a caller uses, or by registry key. Throws `unknown-operation` or `removed`.
   */
  resolve(name: string, now: number): Operation
  /**
   * The operations that every caller may see now: the highest version of each name, without those past their sunset.
   */
  list(now: number): readonly Operation[]
  /** The same for internal operations. Only callers with the required scopes may see them. */
  listInternal(now: number): readonly Operation[]
  /** The removed operations that every caller may see: past their sunset, or defined as removed. */
  listRemoved(now: number): readonly Tombstone[]
  /** When the next version of an operation passes its sunset. `undefined` if none will. */
  nextChangeAt(now: number): number | undefined
  /**
   * Every version of every operation, in the order of definition. The array is the same object until operations change.
   */
  readonly operations: readonly Operation[]
  /** True if a caller without a credential may call at least one operation. */
  readonly hasPublic: boolean
  /** Calls `changed` each time operations are added or removed, until the returned function is called. */
  watch(changed: () => void): () => void
}

/** Operations under the names that tool-shaped protocols give them. */
export interface Tools {
  /** Looks up a tool by id and full version. Without a version: the highest one. */
  byId(id: string, version: string | undefined, now: number): Operation | undefined
  /** Looks up a tool by name: `orders_getItem` is the newest major version, `orders_getItem_v1` is major version 1. */
  byName(name: string, now: number): Operation | undefined
  /** One entry for each tool name without a version suffix, sorted by name. */
  list(now: number): readonly Tool[]
  /** Every version of every tool, sorted by id. */
  versions(now: number): readonly Tool[]
}

export interface Tool {
  /** `orders.getItem`, without a version. */
  id: string
  /** `orders_getItem` */
  name: string
  operation: Operation
}
