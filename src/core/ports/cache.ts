/** The port for caches of results. */
import type { Outcome } from '../call/instance.ts'

/** Caches the results of operations that allow it. */
export interface ResultCache {
  get(key: string): Outcome | undefined
  set(key: string, outcome: Outcome, ttlMs: number): void
}
