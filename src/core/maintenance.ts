/** Keeps house: ends what has expired, removes what is past keeping, and counts again what the limits count. */
import { expired } from './endings.ts'
import type { Limits } from './limits.ts'
import type { Environment, ObjectStore, OpenCounts, Store } from './ports.ts'
import type { Registry } from './registry.ts'
import type { Worker } from './worker.ts'

export interface MaintenanceParts {
  env: Environment
  registry: Registry
  store: Store
  objects: ObjectStore
  limits: Limits
  worker: Worker
  everyMs: number
  /** How long the trail of who did what is kept. */
  auditMs?: number
}

/** Small enough that calls in between are not held up. */
const BATCH = 200
/** Counting reads every open instance, and the counts drift only by what other nodes do: so not in every round. */
const COUNT_EVERY = 12
/** Bytes without an instance are a crash's leftovers once no upload can still be under way. */
const LEFTOVER_AGE_MS = 3_600_000

export class Maintenance {
  readonly #parts: MaintenanceParts
  #cancelTimer: (() => void) | undefined
  #underWay: Promise<void> | undefined
  #stopped = false
  #rounds = 0

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const counts = await this.#parts.store.openCounts()
    this.#parts.limits.adjust(counts)
    this.#takeOver(counts)
    this.#schedule()
  }

  /** Calls of versions that this server no longer has, from before it was started anew. */
  #takeOver({ byOperation }: OpenCounts): void {
    const { registry, env } = this.#parts
    for (const [operation, calls] of byOperation) {
      if (registry.byKey(operation)) continue
      if (registry.inherit(operation))
        env.log.info({ operation, calls }, 'open calls are run by the version there is now')
      else
        env.log.warn({ operation, calls }, 'open calls wait for a server that has this operation, or for their expiry')
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    await this.#underWay
  }

  /** One round; the timer calls it, and a test may. */
  async tidy(): Promise<void> {
    const { store, limits } = this.#parts
    await this.#endOverdue()
    await this.#purge()
    await this.#purgeRecords()
    await this.#purgeAudit()
    if (++this.#rounds % COUNT_EVERY === 0) limits.adjust(await store.openCounts())
  }

  /** Removes the bytes of calls that were never recorded, or whose record is gone. */
  async sweepLeftovers(): Promise<void> {
    const { objects, store, env } = this.#parts
    for await (const owner of objects.owners(env.clock.now() - LEFTOVER_AGE_MS)) {
      if (this.#stopped) return
      if (!(await store.get(owner))) await objects.removeOwner(owner)
    }
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancelTimer = this.#parts.env.clock.schedule(this.#parts.everyMs, () => {
      this.#underWay = this.tidy()
        .catch((err) => this.#parts.env.log.error({ err }, 'housekeeping failed; it is tried again'))
        .then(() => this.#schedule())
    })
  }

  async #endOverdue(): Promise<void> {
    const { store, worker } = this.#parts
    for (;;) {
      const overdue = await store.overdue(BATCH)
      for (const instance of overdue) {
        await worker.endUnrun(instance, expired())
        worker.stopAttempt(instance.id, expired())
      }
      if (overdue.length < BATCH || this.#stopped) return
    }
  }

  async #purge(): Promise<void> {
    const { store, objects } = this.#parts
    for (;;) {
      const ids = await store.purgeable(BATCH)
      // Bytes first: a crash in between leaves a record that nobody can see, not bytes that nobody knows of.
      for (const id of ids) await objects.removeOwner(id)
      await store.purge(ids)
      if (ids.length < BATCH || this.#stopped) return
    }
  }

  async #purgeAudit(): Promise<void> {
    const { store, env, auditMs } = this.#parts
    if (auditMs === undefined) return
    while ((await store.audit.purge(env.clock.now() - auditMs, BATCH)) === BATCH && !this.#stopped);
  }

  async #purgeRecords(): Promise<void> {
    while ((await this.#parts.store.records.purge(BATCH)) === BATCH && !this.#stopped);
  }
}
