/**
 * Keeps house: ends what has expired, removes what is past keeping, and counts again what the limits count. Of several
 * nodes on one store the leader does the first two; each counts for itself.
 */

import { Fault } from '../../core/fault.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { OpenCounts, Store } from '../../core/ports/store.ts'
import { expired } from '../end/end-faults.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import { Leadership } from './leadership.ts'

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
  /** Removes files that were left half written and not touched for this long; says how many. */
  sweepUnfinished?(untouchedForMs: number): Promise<number>
}

/** In one transaction, which the calls of that moment wait for: removing so many takes 3 ms. */
const BATCH = 100
/** After a full batch it rests for so many times as long as that took, so that calls have most of the time. */
const REST = 3
/** The counts drift only by what other nodes do: so they are not put right in every round. */
const COUNT_EVERY = 12
/** The leader renews its lease in every round; when it misses this many, another node leads. */
const LEASE_ROUNDS = 3
/** Bytes without an instance are leftovers once nobody has touched them for so long; they are looked for as often. */
export const LEFTOVER_AGE_MS = 3_600_000

/** There is never such a record. */
const NO_RECORD = 'maintenance:probe'

export class Maintenance {
  readonly #parts: MaintenanceParts
  readonly #leadership: Leadership
  #led = false
  #storageFault: Fault | undefined
  /** By the wall clock, as the times of files are. */
  #sweptAt = Number.POSITIVE_INFINITY
  #cancelTimer: (() => void) | undefined
  #underWay: Promise<void> | undefined
  #sweeping: Promise<void> | undefined
  #cancelSweep: (() => void) | undefined
  readonly #endRests = new Set<() => void>()
  #stopped = false
  #rounds = 0

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
    const { env, store, everyMs } = parts
    this.#leadership = new Leadership({ env, records: store.records, leaseMs: LEASE_ROUNDS * everyMs })
  }

  async start(): Promise<void> {
    const counts = await this.#parts.store.openCounts()
    this.#parts.limits.adjust(counts)
    this.#takeOver(counts)
    const leads = await this.#leadership.lead()
    this.#schedule()
    this.#sweepWhile(leads)
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
    this.#cancelSweep?.()
    for (const end of this.#endRests) end()
    await this.#underWay
    await this.#sweeping
    await this.#leadership.resign()
  }

  /** Why nothing could be written when that was last tried; nothing if it could. */
  get storageFault(): Fault | undefined {
    return this.#storageFault
  }

  /** A write that changes nothing, so that an idle server knows too. */
  async #tryStorage(): Promise<void> {
    try {
      await this.#parts.store.records.remove(NO_RECORD)
      this.#storageFault = undefined
    } catch (thrown) {
      this.#storageFault = Fault.from(thrown)
      throw thrown
    }
  }

  /** One round; the timer calls it, and a test may. */
  async tidy(): Promise<void> {
    const { store, limits } = this.#parts
    await this.#tryStorage()
    const leads = await this.#leadership.lead()
    if (this.#cancelTimer) this.#sweepWhile(leads)
    if (leads) {
      // What makes room comes first: where there is none, nothing can be ended.
      await inOrder([
        () => this.#expire(),
        () => this.#purgeRecords(),
        () => this.#purgeAudit(),
        () => this.#endOverdue(),
      ])
    }
    if (++this.#rounds % COUNT_EVERY === 0) limits.adjust(await store.openCounts())
  }

  /** A node that becomes the leader sweeps at once, since it does not know when that was last done. */
  #sweepWhile(leads: boolean): void {
    if (leads && !this.#led && !this.#sweeping) this.#sweepAgain()
    if (!leads) this.#cancelSweep?.()
    this.#led = leads
  }

  /** Beside everything else, since it looks at all that is stored; and again when as much time has passed. */
  #sweepAgain(): void {
    const { env } = this.#parts
    this.#sweeping = this.sweepLeftovers()
      .catch((err) => env.log.warn({ err }, 'leftovers could not be swept; it is tried again'))
      .then(() => {
        this.#sweeping = undefined
        if (!this.#stopped && this.#led)
          this.#cancelSweep = env.clock.schedule(LEFTOVER_AGE_MS, () => this.#sweepAgain())
      })
  }

  /** Removes the bytes of calls that were never recorded, or whose record is gone, and what was left half written. */
  async sweepLeftovers(): Promise<void> {
    const { objects, store, env, sweepUnfinished } = this.#parts
    const { clock } = env
    const now = clock.now()
    // What was touched since the last sweep is no leftover, also if the clock was set forward meanwhile.
    const before = Math.min(now - LEFTOVER_AGE_MS, this.#sweptAt)
    this.#sweptAt = now
    let [removed, seen, startedMs] = [0, 0, clock.monotonicMs()]
    for await (const owner of objects.owners(before)) {
      if (this.#stopped) return
      if (!(await store.get(owner))) {
        await objects.removeOwner(owner)
        removed += 1
      }
      if (++seen % BATCH > 0) continue
      await this.#rest((clock.monotonicMs() - startedMs) * REST)
      startedMs = clock.monotonicMs()
    }
    const unfinished = (await sweepUnfinished?.(now - before)) ?? 0
    if (removed + unfinished > 0) env.log.info({ removed, unfinished }, 'bytes that no call owns were removed')
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
    await this.#inBatches(async () => {
      const overdue = await store.overdue(BATCH)
      // Together, so that they share a commit.
      await Promise.all(overdue.map((instance) => worker.endUnrun(instance, expired())))
      for (const { id } of overdue) worker.stopAnywhere(id, expired())
      return overdue.length
    })
  }

  async #expire(): Promise<void> {
    const { store, objects } = this.#parts
    const removeObjects = async (ids: readonly string[]) => {
      await Promise.all(ids.map((id) => objects.removeOwner(id)))
    }
    await this.#inBatches(() => store.expire(BATCH, removeObjects))
  }

  async #purgeAudit(): Promise<void> {
    const { store, env, auditMs } = this.#parts
    if (auditMs === undefined) return
    await this.#inBatches(() => store.audit.purge(env.clock.now() - auditMs, BATCH))
  }

  async #purgeRecords(): Promise<void> {
    await this.#inBatches(() => this.#parts.store.records.purge(BATCH))
  }

  /** As long as there is a whole batch to do: a million that expire at once take minutes, and hold up nobody. */
  async #inBatches(work: () => Promise<number>): Promise<void> {
    const { clock } = this.#parts.env
    for (;;) {
      const startedMs = clock.monotonicMs()
      if ((await work()) < BATCH) return
      await this.#rest((clock.monotonicMs() - startedMs) * REST)
      if (this.#stopped || !(await this.#leadership.lead())) return
    }
  }

  async #rest(ms: number): Promise<void> {
    if (ms <= 0 || this.#stopped) return
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.env.clock.schedule(ms, () => end())
      const end = () => {
        cancel()
        this.#endRests.delete(end)
        resolve()
      }
      this.#endRests.add(end)
    })
  }
}

/** All of them, though one fails; then the first failure. */
async function inOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) await step().catch((thrown: unknown) => failures.push(thrown))
  if (failures.length > 0) throw failures[0]
}
