/** Reads everything in a store that no server uses, to move it into another one. */
import type { Instance } from '../call/instance.ts'
import type { PastAttempt } from './call-list.ts'
import type { Alias } from './store.ts'

export interface StoreDump {
  /** The tenants that have calls or audit entries. */
  tenants(): Promise<readonly string[]>
  /** Calls and the others come in an order that does not change. Pass `next` as `after`. */
  calls(limit: number, after?: number): Promise<Page<Instance>>
  /** Of the calls that have any. */
  attempts(limit: number, after?: number): Promise<Page<CallAttempts>>
  aliases(limit: number, after?: number): Promise<Page<Alias>>
  /** Without records past their expiry. */
  records(limit: number, after?: string): Promise<readonly DumpedRecord[]>
}

export interface Page<T> {
  items: readonly T[]
  /** Absent on the last page. */
  next?: number
}

/** The attempts of one call, beyond what the call itself tells. */
export interface CallAttempts {
  id: string
  /** Those that did not end the call. */
  past: readonly PastAttempt[]
  /** When the last one was begun. Absent if that was at the acceptance of the call. */
  begunAt?: number
}

export interface DumpedRecord {
  key: string
  value: string
  expiresAt?: number
}
