/** Results that may be remembered. */
import type { Outcome } from '../instance.ts'

/** Remembers results for operations that say they may be remembered. */
export interface ResultCache {
  get(key: string): Outcome | undefined
  set(key: string, outcome: Outcome, ttlMs: number): void
}
