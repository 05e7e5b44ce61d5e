/** A number for each caller within its tenant. Two maps instead of one joined key: joining costs more than a lookup. */

import type { SlotOwner } from './slot-shares.ts'

export type OwnerCount = readonly [tenant: string, owner: string, count: number]

export class OwnerCounts {
  /** A count of 0 stays until `list` or `clear`: a map from which entries are deleted all the time grows slow. */
  readonly #tenants = new Map<string, Map<string, { count: number }>>()

  of({ tenant, owner }: SlotOwner): number {
    return this.#tenants.get(tenant)?.get(owner)?.count ?? 0
  }

  add({ tenant, owner }: SlotOwner, change: number): void {
    let owners = this.#tenants.get(tenant)
    if (!owners) {
      owners = new Map()
      this.#tenants.set(tenant, owners)
    }
    const known = owners.get(owner)
    if (known) known.count += change
    else owners.set(owner, { count: change })
  }

  /** All counts other than 0. */
  list(): OwnerCount[] {
    const counts: OwnerCount[] = []
    for (const [tenant, owners] of this.#tenants) {
      for (const [owner, { count }] of owners) {
        if (count === 0) owners.delete(owner)
        else counts.push([tenant, owner, count])
      }
      if (owners.size === 0) this.#tenants.delete(tenant)
    }
    return counts
  }

  clear(): void {
    this.#tenants.clear()
  }
}
