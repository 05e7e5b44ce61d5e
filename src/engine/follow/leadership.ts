/**
 * Decides which of the nodes on one store keeps house. The leader holds a lease, which is a record in the store; when the
 * leader stops renewing it, another node takes it. Two leaders at once do no harm: each write they make is conditional.
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
  /** Of this node, for as long as it runs. */
  readonly #name: string
  /** On the monotonic clock; nothing if this node does not have the lease. */
  #renewedMs: number | undefined

  constructor(parts: LeadershipParts) {
    this.#parts = parts
    this.#name = parts.env.newId()
  }

  /** Takes the lease if it is free, and renews it if a third of it has passed; says whether this node leads. */
  async lead(): Promise<boolean> {
    const { env, leaseMs } = this.#parts
    const nowMs = env.clock.monotonicMs()
    if (this.#renewedMs !== undefined && nowMs - this.#renewedMs < leaseMs / 3) return true
    try {
      this.#renewedMs = (await this.#write()) ? nowMs : undefined
      return this.#renewedMs !== undefined
    } catch (err) {
      // Keeping house is what makes room where the disk is full, so it must not depend on this write.
      env.log.warn({ err }, 'could not write which node keeps house; this one does')
      return true
    }
  }

  /** Gives the lease up, so that another node need not wait for its end. */
  async resign(): Promise<void> {
    const { records, env } = this.#parts
    if (this.#renewedMs === undefined) return
    this.#renewedMs = undefined
    try {
      await records.write([{ key: KEY, expected: this.#name }])
    } catch (err) {
      env.log.warn({ err }, 'could not give up keeping house; another node takes over when the lease has run out')
    }
  }

  async #write(): Promise<boolean> {
    const { records, env, leaseMs } = this.#parts
    const expiresAt = env.clock.now() + leaseMs
    if (this.#renewedMs !== undefined && (await records.replace(KEY, this.#name, this.#name, expiresAt))) return true
    return records.add(KEY, this.#name, expiresAt)
  }
}
