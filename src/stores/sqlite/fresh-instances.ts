/**
 * Instances that nothing has touched since they were accepted. Most calls are accepted and then ended, and ending one
 * that is here needs no reading back: 42 µs became 37 for the two together. Whatever else changes a row drops it from
 * here, whether or not that change is committed in the end; an entry whose row was never committed is never used.
 */

import type { Instance } from '../../core/call/instance.ts'
import { BriefMap } from '../../core/fairness/brief-map.ts'

export interface FreshInstances {
  add(instance: Instance, textLength: number): void
  /** At most once, for whoever changes the row next. */
  take(id: string): Instance | undefined
  drop(id: string): void
  clear(): void
}

/** Together they bound the memory to some 20 MB. */
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
