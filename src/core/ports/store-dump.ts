/** Reads everything in a store that no server uses, to move it into another one. */
import type { Instance } from '../call/instance.ts'
import type { Alias } from './store.ts'

export interface StoreDump {
  /** The tenants that have calls or audit entries. */
  tenants(): Promise<readonly string[]>
  /** Calls and the others come in an order that does not change. Pass `next` as `after`. */
  calls(limit: number, after?: number): Promise<Page<Instance>>
  aliases(limit: number, after?: number): Promise<Page<Alias>>
  /** Without records past their expiry. */
  records(limit: number, after?: string): Promise<readonly DumpedRecord[]>
}

export interface Page<T> {
  items: readonly T[]
  /** Absent on the last page. */
  next?: number
}

export interface DumpedRecord {
  key: string
  value: string
  expiresAt?: number
}
