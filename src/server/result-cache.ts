/** Remembered results, the least used forgotten first. */
import { LRUCache } from 'lru-cache'
import type { Outcome } from '../core/model.ts'
import type { Clock, ResultCache } from '../core/ports.ts'

const MAX_ENTRIES = 10_000

export function createResultCache(clock: Clock): ResultCache {
  const entries = new LRUCache<string, { outcome: Outcome; expiresAt: number }>({ max: MAX_ENTRIES })
  return {
    get(key) {
      const entry = entries.get(key)
      return entry && entry.expiresAt > clock.now() ? entry.outcome : undefined
    },
    set: (key, outcome, ttlMs) => void entries.set(key, { outcome, expiresAt: clock.now() + ttlMs }),
  }
}
