/** Engines on a manual clock and a real SQLite file: any number of nodes, each of which can die. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Call } from '../../src/core/call/call.ts'
import type { Caller } from '../../src/core/call/caller.ts'
import type { Instance } from '../../src/core/call/instance.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import { isTerminal } from '../../src/core/call/state.ts'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import type { Backend } from '../../src/core/ports/backend.ts'
import type { ResultCache } from '../../src/core/ports/cache.ts'
import type { Calls } from '../../src/core/ports/calls.ts'
import type { StreamTransports } from '../../src/core/ports/frames.ts'
import type { Guard } from '../../src/core/ports/guard.ts'
import type { ObjectStore } from '../../src/core/ports/objects.ts'
import type { Observer } from '../../src/core/ports/observer.ts'
import type { Fetcher } from '../../src/core/ports/outbound.ts'
import type { Pipes } from '../../src/core/ports/peers.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import type { Advanced, Store } from '../../src/core/ports/store.ts'
import { createCalls } from '../../src/engine/calls.ts'
import { Engine } from '../../src/engine/engine.ts'
import { FollowUp } from '../../src/engine/follow/follow-up.ts'
import { Maintenance } from '../../src/engine/follow/maintenance.ts'
import { createWaiters } from '../../src/engine/follow/waiters.ts'
import { DEFAULT_LIMITS, type LimitRules } from '../../src/engine/limits/limit-rules.ts'
import { Limits } from '../../src/engine/limits/limits.ts'
import type { RunOptions } from '../../src/engine/record/recorder.ts'
import type { WorkerSettings } from '../../src/engine/run/worker.ts'
import { createRedactor } from '../../src/security/redaction/redaction.ts'
import { createSealer } from '../../src/security/secrets/vault.ts'
import { createEnvironment } from '../../src/server/build/environment.ts'
import { buildRegistry } from '../../src/server/build/operations.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock, type ManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { createMemoryObjects } from '../../src/testing/fakes/memory-objects.ts'

export const ADA: Caller = { tenant: 'main', issuer: 'test', subject: 'ada', scopes: ['*'] }
export const OWNER = 'test|ada'
export const LEASE_MS = 30_000
export const STOP_GRACE_MS = 5_000

const NO_CACHE: ResultCache = { get: () => undefined, set: () => {} }
const WORK: WorkerSettings = { leaseMs: LEASE_MS, claimEveryMs: 5_000, maxCutOffs: 10, progressEveryMs: 100 }

/** The parts that nodes share: the clock, the file, the objects. */
export class Cluster implements AsyncDisposable {
  readonly clock: ManualClock = createManualClock()
  readonly objects: ObjectStore = createMemoryObjects(() => this.clock.now())
  readonly #folder = mkdtempSync(join(tmpdir(), 'callplane-engine-'))
  store: Store = this.#open()

  #open(): Store {
    return freezeInstances(createSqliteStore({ file: join(this.#folder, 'calls.db'), clock: this.clock }))
  }

  /** Discards everything in memory. Committed data stays. */
  async restart(): Promise<void> {
    await this.store.close()
    this.store = this.#open()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Resolves when a stored instance satisfies `wanted`, now or after a change. */
  async until(id: string, wanted: (instance: Instance) => boolean): Promise<Instance> {
    const found = Promise.withResolvers<Instance>()
    const stop = this.store.watch(id, (instance) => wanted(instance) && found.resolve(instance))
    try {
      const current = await this.store.get(id)
      return current && wanted(current) ? current : await found.promise
    } finally {
      stop()
    }
  }

  ended(id: string): Promise<Instance> {
    return this.until(id, ({ state }) => isTerminal(state))
  }

  async find(requestId: string): Promise<Instance> {
    const found = await this.store.find(ADA.tenant, OWNER, requestId)
    if (!found) throw new Error(`no call ${requestId}`)
    return found
  }
}

/** The store, its watchers and the engine share instances, so changing one afterwards throws in every test. */
function freezeInstances(store: Store): Store {
  const advanced = (after: Advanced) => {
    if (after.instance) Object.freeze(after.instance)
    return after
  }
  return {
    ...store,
    accept: (instance, more) => store.accept(Object.freeze(instance), more),
    get: async (id) => Object.freeze(await store.get(id)),
    find: async (...asked) => Object.freeze(await store.find(...asked)),
    claim: async (claim) => {
      const claimed = await store.claim(claim)
      for (const instance of claimed.instances) Object.freeze(instance)
      return claimed
    },
    advance: (change) => store.advance(change).then(advanced),
    answer: (...answer) => store.answer(...answer).then(advanced),
    watch: (id, changed) => store.watch(id, (instance) => changed(Object.freeze(instance))),
  }
}

export function openCluster(): Cluster {
  const cluster = new Cluster()
  onTestFinished(() => cluster[Symbol.asyncDispose]())
  return cluster
}

export interface NodeOptions {
  operations: readonly OperationDefinition[]
  limits?: Partial<LimitRules>
  work?: Partial<WorkerSettings>
  /** Backends by the kind that an operation declares. */
  backends?: Readonly<Record<string, Backend>>
  guards?: readonly Guard[]
  observer?: Observer
  cache?: ResultCache
  random?: () => number
  /** Where streams can be read. */
  transports?: StreamTransports
  /** To the other nodes. */
  pipes?: Pipes
  sweepUnfinished?: (untouchedForMs: number) => Promise<number>
}

export class Node {
  readonly log: LogLine[] = []
  readonly limits: Limits
  readonly engine: Engine
  readonly followUp: FollowUp
  readonly calls: Calls
  readonly maintenance: Maintenance
  readonly #held: (() => void)[] = []
  #life: 'running' | 'frozen' | 'dead' = 'running'
  #calls = 0

  constructor(cluster: Pick<Cluster, 'store' | 'objects' | 'clock'>, options: NodeOptions) {
    const {
      operations,
      limits: rules,
      work,
      backends,
      guards = [],
      observer,
      random,
      transports,
      pipes,
      cache = NO_CACHE,
      sweepUnfinished,
    } = options
    const { store, objects } = cluster
    const clock = this.#mortal(cluster.clock)
    const system = createEnvironment(
      createMemoryLog(this.log),
      { current: new Uint8Array(32) },
      clock,
      createRedactor(),
    )
    const env = random ? { ...system, random } : system
    const registry = buildRegistry(
      operations,
      ({ run = () => {}, backend }) => (backend && backends?.[backend.kind]) ?? { kind: 'handler', execute: run },
    )
    const limits = new Limits({ ...DEFAULT_LIMITS, ...rules }, clock)
    const shared = { env, registry, store, objects, limits }
    this.limits = limits
    this.engine = new Engine({
      ...shared,
      fetcher: {} as Fetcher,
      guards,
      cache,
      sealer: createSealer({ current: new Uint8Array(32) }),
      ...(observer && { observer }),
      ...(transports && { transports }),
      ...(pipes && { pipes }),
      work: { ...WORK, ...work },
      chunkBytes: 1_024,
      maxObjectBytes: 1_000_000,
      stopGraceMs: STOP_GRACE_MS,
    })
    const { worker } = this.engine
    this.followUp = new FollowUp({ ...shared, worker, cancelWaitMs: STOP_GRACE_MS * 2 })
    this.calls = createCalls({ engine: this.engine, followUp: this.followUp, env, waiters: createWaiters() })
    this.maintenance = new Maintenance({
      ...shared,
      worker,
      everyMs: 5_000,
      ...(sweepUnfinished && { sweepUnfinished }),
    })
  }

  /** A clock whose timers do not fire while the process hangs or after it has died. */
  #mortal(clock: ManualClock): Clock {
    return {
      now: clock.now,
      monotonicMs: clock.monotonicMs,
      schedule: (delayMs, run) =>
        clock.schedule(delayMs, () => {
          if (this.#life === 'running') run()
          else if (this.#life === 'frozen') this.#held.push(run)
        }),
    }
  }

  async call(
    operation: string,
    args: object = {},
    more: Partial<Call> = {},
    options: RunOptions = {},
    caller = ADA,
  ): Promise<Reply> {
    const requestId = `r${++this.#calls}`
    const call: Call = { operation, args: args as Call['args'], media: [], requestId, ...more }
    return this.engine.call(call, () => caller, options)
  }

  /** Pauses the node, as a debugger or a long garbage collection would. */
  freeze(): void {
    this.#life = 'frozen'
  }

  thaw(): void {
    this.#life = 'running'
    for (const run of this.#held.splice(0)) run()
  }

  kill(): void {
    this.#life = 'dead'
  }
}

/** A handler that waits until the test releases it, and reports when it has begun. */
export class Gate<T = unknown> {
  readonly #begun = Promise.withResolvers<void>()
  readonly #opened = Promise.withResolvers<T>()
  runs = 0

  /** Settles when a handler waits at the gate. */
  get reached(): Promise<void> {
    return this.#begun.promise
  }

  pass(): Promise<T> {
    this.runs++
    this.#begun.resolve()
    return this.#opened.promise
  }

  open(value: T): void {
    this.#opened.resolve(value)
  }
}

/** Lets all work proceed as far as it can without the clock. Writes commit within one of these turns. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}
