/**
 * Elects one of the nodes on a store to run maintenance. The leader holds a lease, which is a record in the store. If
 * the leader stops renewing it, another node takes it. Two leaders at once do no harm, because all their writes are
 * conditional.
 */
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'

export interface LeadershipParts {
  env: Environment
  records: Records
  leaseMs: number
}

const KEY = 'maintenance:leader'

export class Leadership {
  readonly #parts: LeadershipParts
  /** The id of this node, for as long as it runs. */
  readonly #name: string
  /** On the monotonic clock. `undefined` if this node does not hold the lease. */
  #renewedMs: number | undefined
  #wrote = false

  constructor(parts: LeadershipParts) {
    this.#parts = parts
    this.#name = parts.env.newId()
  }

  /** The last `lead` has written to the store, so the store can be written to. */
  get wrote(): boolean {
    return this.#wrote
  }

  /** Takes the lease if it is free, and renews it after a third of its time. True if this node leads. */
  async lead(): Promise<boolean> {
    const { env, leaseMs } = this.#parts
    const nowMs = env.clock.monotonicMs()
    this.#wrote = false
    if (this.#renewedMs !== undefined && nowMs - this.#renewedMs < leaseMs / 3) return true
    try {
      this.#renewedMs = (await this.#write()) ? nowMs : undefined
      this.#wrote = true
      return this.#renewedMs !== undefined
    } catch (err) {
      // Maintenance frees space when the disk is full, so it must not depend on this write.
      env.log.warn({ err }, 'could not write the maintenance lease; this node runs maintenance anyway')
      return true
    }
  }

  /** Releases the lease, so that another node need not wait for it to expire. */
  async resign(): Promise<void> {
    const { records, env } = this.#parts
    if (this.#renewedMs === undefined) return
    this.#renewedMs = undefined
    try {
      await records.write([{ key: KEY, expected: this.#name }])
    } catch (err) {
      env.log.warn({ err }, 'could not release the maintenance lease; another node takes over when it expires')
    }
  }

  async #write(): Promise<boolean> {
    const { records, env, leaseMs } = this.#parts
    const expiresAt = env.clock.now() + leaseMs
    if (this.#renewedMs !== undefined && (await records.replace(KEY, this.#name, this.#name, expiresAt))) return true
    return records.add(KEY, this.#name, expiresAt)
  }
}
