/**
 * Ends expired calls, removes calls past their retention, and corrects the counts of the limits. If several nodes share
 * a store, only the leader ends and removes calls; every node corrects its own counts.
 */

import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { OpenCounts, Store } from '../../core/ports/store.ts'
import { expired } from '../end/end-faults.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import { Health } from './health.ts'
import { Leadership } from './leadership.ts'

export interface MaintenanceParts {
  env: Environment
  registry: Registry
  store: Store
  objects: ObjectStore
  limits: Limits
  worker: Worker
  everyMs: number
  /** How long audit entries are kept. */
  auditMs?: number
  /** Removes unfinished files that have not changed for this long. Returns their number. */
  sweepUnfinished?(untouchedForMs: number): Promise<number>
}

/** Calls per transaction. Other calls wait for it: removing this many takes 3 ms. */
const BATCH = 100
/** After a full batch, maintenance pauses for this many times the duration of the batch, so that calls can run. */
const REST = 3
/** The longest such pause. A batch that waited, such as for a database that was away, has not kept calls from running. */
const MAX_REST_MS = 1_000
/**
 * Rounds between two corrections of the counts. They drift only because of other nodes, so every round would be too
 * often.
 */
const COUNT_EVERY = 12
/** Expired records and old audit entries only take space, so that removing them can wait for some rounds. */
const PURGE_EVERY = 12
/** A round after one that found nothing comes later by this factor, so that idle servers leave the store alone. */
const IDLE_FACTOR = 2
/** The leader renews its lease in every round. If it misses this many idle rounds, another node becomes the leader. */
const LEASE_ROUNDS = 3
/**
 * Bytes without an instance are leftovers if they have not changed for this long. A sweep starts at the same interval.
 */
export const LEFTOVER_AGE_MS = 3_600_000

export class Maintenance {
  readonly #parts: MaintenanceParts
  readonly #leadership: Leadership
  #led = false
  /** Whether this node can do its work, as of the last round. */
  readonly health: Health
  /** Not monotonic: files are dated by the wall clock, so a step of that clock has to count. */
  #sweptAt = Number.POSITIVE_INFINITY
  #cancelTimer: (() => void) | undefined
  #underWay: Promise<void> | undefined
  #sweeping: Promise<void> | undefined
  #cancelSweep: (() => void) | undefined
  readonly #endRests = new Set<() => void>()
  #stopped = false
  #rounds = 0
  /** What this round has found to do. */
  #found = 0
  /** The last round ended in order and found nothing. */
  #idle = false

  constructor(parts: MaintenanceParts) {
    this.#parts = parts
    const { env, store, objects, everyMs } = parts
    this.health = new Health({ store, objects, log: env.log })
    this.#leadership = new Leadership({ env, records: store.records, leaseMs: LEASE_ROUNDS * IDLE_FACTOR * everyMs })
  }

  async start(): Promise<void> {
    const counts = await this.#parts.store.openCounts()
    this.#parts.limits.adjust(counts)
    this.#takeOver(counts)
    const leads = await this.#leadership.lead()
    this.#schedule()
    this.#sweepWhile(leads)
  }

  /** Takes over open calls of versions that this server had before it was restarted and no longer has. */
  #takeOver({ byOperation }: OpenCounts): void {
    const { registry, env } = this.#parts
    for (const [operation, calls] of byOperation) {
      if (registry.byKey(operation)) continue
      if (registry.inherit(operation))
        env.log.info({ operation, calls }, 'the current version runs the open calls of a removed version')
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
    await this.health.stop()
    await this.#leadership.resign()
  }

  /** One round. The timer and tests call it. */
  async tidy(): Promise<void> {
    const { store, limits } = this.#parts
    this.#idle = false
    this.#found = 0
    const leads = await this.#leadership.lead()
    await this.health.check(this.#leadership.wrote)
    if (this.#cancelTimer) this.#sweepWhile(leads)
    if (leads) {
      // Removals come first, because they free space: on a full disk no call can be ended.
      const purge = [() => this.#purgeRecords(), () => this.#purgeAudit()]
      const isPurged = this.#rounds % PURGE_EVERY === 0
      await inOrder([() => this.#expire(), ...(isPurged ? purge : []), () => this.#endOverdue()])
    }
    if (++this.#rounds % COUNT_EVERY === 0) limits.adjust(await store.openCounts())
    this.#idle = this.#found === 0
  }

  /** A node that becomes the leader sweeps at once, because it does not know the time of the last sweep. */
  #sweepWhile(leads: boolean): void {
    if (leads && !this.#led && !this.#sweeping) this.#sweepAgain()
    if (!leads) this.#cancelSweep?.()
    this.#led = leads
  }

  /** Sweeps in the background, because a sweep reads all stored objects. Then schedules the next sweep. */
  #sweepAgain(): void {
    const { env } = this.#parts
    this.#sweeping = this.sweepLeftovers()
      .catch((err) => env.log.warn({ err }, 'could not remove leftover bytes; the next sweep tries again'))
      .then(() => {
        this.#sweeping = undefined
        if (!this.#stopped && this.#led)
          this.#cancelSweep = env.clock.schedule(LEFTOVER_AGE_MS, () => this.#sweepAgain())
      })
  }

  /** Removes the bytes of calls that were never recorded or whose record is gone, and unfinished files. */
  async sweepLeftovers(): Promise<void> {
    const { objects, store, env, sweepUnfinished } = this.#parts
    const { clock } = env
    const now = clock.now()
    // Bytes that changed since the last sweep are not leftovers, even if the clock was set forward meanwhile.
    const untouchedForMs = Math.max(LEFTOVER_AGE_MS, now - this.#sweptAt)
    this.#sweptAt = now
    let [removed, seen, startedMs] = [0, 0, clock.monotonicMs()]
    let leftovers: string[] = []
    // Together, because a store may share the work.
    const remove = async () => {
      await Promise.all(leftovers.map((owner) => objects.removeOwner(owner)))
      removed += leftovers.length
      leftovers = []
    }
    for await (const owner of objects.owners(untouchedForMs)) {
      if (this.#stopped) return
      if (!(await store.get(owner))) leftovers.push(owner)
      if (++seen % BATCH > 0) continue
      await remove()
      await this.#restAfter(startedMs)
      startedMs = clock.monotonicMs()
    }
    await remove()
    const unfinished = (await sweepUnfinished?.(untouchedForMs)) ?? 0
    if (removed + unfinished > 0) env.log.info({ removed, unfinished }, 'removed bytes that belong to no call')
  }

  #schedule(): void {
    if (this.#stopped) return
    const { everyMs, env } = this.#parts
    this.#cancelTimer = env.clock.schedule(this.#idle ? IDLE_FACTOR * everyMs : everyMs, () => {
      this.#underWay = this.tidy()
        .catch((err) => env.log.error({ err }, 'maintenance failed; the next round tries again'))
        .then(() => this.#schedule())
    })
  }

  async #endOverdue(): Promise<void> {
    const { store, worker } = this.#parts
    await this.#inBatches(async () => {
      const overdue = await store.overdue(BATCH)
      // At the same time, so that they share a commit.
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

  /** Repeats as long as batches are full. If a million calls expire at once, this takes minutes but blocks no call. */
  async #inBatches(work: () => Promise<number>): Promise<void> {
    const { clock } = this.#parts.env
    for (;;) {
      const startedMs = clock.monotonicMs()
      const found = await work()
      this.#found += found
      if (found < BATCH) return
      await this.#restAfter(startedMs)
      if (this.#stopped || !(await this.#leadership.lead())) return
    }
  }

  async #restAfter(startedMs: number): Promise<void> {
    const { clock } = this.#parts.env
    const ms = Math.min(MAX_REST_MS, (clock.monotonicMs() - startedMs) * REST)
    if (ms <= 0 || this.#stopped) return
    await new Promise<void>((resolve) => {
      const cancel = clock.schedule(ms, () => end())
      const end = () => {
        cancel()
        this.#endRests.delete(end)
        resolve()
      }
      this.#endRests.add(end)
    })
  }
}

/** Runs all steps, even if one fails. Then throws the first failure. */
async function inOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) await step().catch((thrown: unknown) => failures.push(thrown))
  if (failures.length > 0) throw failures[0]
}
