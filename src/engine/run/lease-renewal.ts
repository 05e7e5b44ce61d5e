/** Renews the leases of running calls. Stops calls whose lease was lost or whose cancellation was requested. */

import type { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Lease, Store } from '../../core/ports/store.ts'
import { canceled, leaseLost } from '../end/end-faults.ts'

export interface LeaseKeepingParts {
  env: Environment
  store: Store
  leaseMs: number
  /** The leases of all running calls. */
  leases(): readonly Lease[]
  /** True if this lease is current. The call may have ended, or been claimed again, meanwhile. */
  counts(lease: Lease): boolean
  stop(id: string, why: Fault): void
}

export class LeaseKeeping {
  readonly #parts: LeaseKeepingParts
  #cancelTimer: (() => void) | undefined

  constructor(parts: LeaseKeepingParts) {
    this.#parts = parts
  }

  /**
   * Starts to renew leases, until no call runs. A timer that is already set is kept, because many calls begin and end
   * between two renewals, and a timer per call would cost each of them.
   */
  start(): void {
    const { env, leaseMs } = this.#parts
    this.#cancelTimer ??= env.clock.schedule(leaseMs / 3, () => void this.#extend())
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  async #extend(): Promise<void> {
    const { env, store, leaseMs, leases, counts, stop } = this.#parts
    this.#cancelTimer = undefined
    const held = leases()
    if (held.length === 0) return
    try {
      for (const renewal of await store.extend(held, leaseMs)) {
        if (!counts(renewal)) continue
        if (!renewal.held) stop(renewal.id, leaseLost())
        else if (renewal.stopRequested) stop(renewal.id, canceled())
      }
    } catch (thrown) {
      env.log.error({ err: thrown }, 'could not renew leases; trying again')
    }
    if (leases().length > 0) this.start()
  }
}
