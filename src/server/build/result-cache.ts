/** An in-memory cache of results that evicts the least recently used first. */
import { LRUCache } from 'lru-cache'
import type { Outcome } from '../../core/call/instance.ts'
import type { ResultCache } from '../../core/ports/cache.ts'
import type { Clock } from '../../core/ports/runtime.ts'

const MAX_ENTRIES = 10_000
/** Approximate size as JSON. The limit keeps large results from filling the memory. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_ENTRY_BYTES = 1024 * 1024

interface Entry {
  outcome: Outcome
  expiresAt: number
}

export function createResultCache(clock: Clock): ResultCache {
  const entries = new LRUCache<string, Entry>({
    max: MAX_ENTRIES,
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: ({ outcome }, key) => key.length + JSON.stringify(outcome).length,
  })
  return {
    get(key) {
      const entry = entries.get(key)
      return entry && entry.expiresAt > clock.monotonicMs() ? entry.outcome : undefined
    },
    set: (key, outcome, ttlMs) => void entries.set(key, { outcome, expiresAt: clock.monotonicMs() + ttlMs }),
  }
}
