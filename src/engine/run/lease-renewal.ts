/** Keeps the leases of what runs here, and passes on what is heard in return: a lease that was lost, a wish to stop. */

import type { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Lease, Store } from '../../core/ports/store.ts'
import { canceled, leaseLost } from '../end/end-faults.ts'

export interface LeaseKeepingParts {
  env: Environment
  store: Store
  leaseMs: number
  /** Of all that runs now. */
  leases(): readonly Lease[]
  /** Whether this lease is still the one that counts: the call may have ended, or been claimed anew, meanwhile. */
  counts(lease: Lease): boolean
  stop(id: string, why: Fault): void
}

export class LeaseKeeping {
  readonly #parts: LeaseKeepingParts
  #cancelTimer: (() => void) | undefined

  constructor(parts: LeaseKeepingParts) {
    this.#parts = parts
  }

  /** From now on, until nothing runs any more. */
  start(): void {
    const { env, leaseMs } = this.#parts
    this.stop()
    this.#cancelTimer = env.clock.schedule(leaseMs / 3, () => void this.#extend())
  }

  stop(): void {
    this.#cancelTimer?.()
  }

  async #extend(): Promise<void> {
    const { env, store, leaseMs, leases, counts, stop } = this.#parts
    const held = leases()
    if (held.length === 0) return
    try {
      for (const renewal of await store.extend(held, leaseMs)) {
        if (!counts(renewal)) continue
        if (!renewal.held) stop(renewal.id, leaseLost())
        else if (renewal.stopRequested) stop(renewal.id, canceled())
      }
    } catch (thrown) {
      env.log.error({ err: thrown }, 'leases could not be extended; it is tried again')
    }
    if (leases().length > 0) this.start()
  }
}
