/**
 * Simulates at the store a process that ends right after its n-th write: that write is on disk, no later write is, and
 * the process gets no more replies. Each write counts as its own commit, which is the worst case of a shared commit.
 */
import type { ObjectStore } from '../../../src/core/ports/objects.ts'
import type { Clock } from '../../../src/core/ports/runtime.ts'
import type { Store } from '../../../src/core/ports/store.ts'

type Method = (...args: unknown[]) => unknown

export class Death {
  #after: number | string
  readonly #happened = Promise.withResolvers<void>()
  /** Names of the writes, in the order they were requested. */
  readonly writes: string[] = []
  #dead = false

  /** The process ends after this many writes, or after the first write with this name. Default: never. */
  constructor(after: number | string = Number.POSITIVE_INFINITY) {
    this.#after = after
  }

  /** From now on the process does not end. */
  spare(): void {
    if (!this.#dead) this.#after = Number.POSITIVE_INFINITY
  }

  get isDead(): boolean {
    return this.#dead
  }

  /** Resolves once the last write is on disk. */
  get happened(): Promise<void> {
    return this.#happened.promise
  }

  write<T>(name: string, act: () => Promise<T>): Promise<T> {
    if (this.#dead) return never()
    const isLast = this.writes.push(name) === this.#after || name === this.#after
    if (isLast) this.#dead = true
    const done = act()
    if (isLast) done.finally(() => this.#happened.resolve()).catch(() => {})
    return this.#heard(done)
  }

  read<T>(act: () => Promise<T>): Promise<T> {
    return this.#dead ? never() : this.#heard(act())
  }

  /** Settles like the promise while the process lives, and never afterwards. */
  async #heard<T>(promise: Promise<T>): Promise<T> {
    try {
      const value = await promise
      return this.#dead ? await never() : value
    } catch (thrown) {
      if (this.#dead) return never()
      throw thrown
    }
  }
}

function never(): Promise<never> {
  return new Promise(() => {})
}

const STORE_WRITES: ReadonlySet<string> = new Set([
  ...['accept', 'alias', 'claim', 'extend', 'advance', 'answer', 'progress', 'tell', 'requestStop'],
  ...['records.put', 'records.add', 'records.replace', 'records.take', 'records.remove', 'records.write'],
  ...['records.purge', 'audit.append', 'audit.purge'],
])

export function mortalStore(store: Store, death: Death): Store {
  const { close, now, watch } = store
  return {
    ...mortal(store, death, STORE_WRITES),
    records: mortal(store.records, death, STORE_WRITES, 'records.'),
    audit: mortal(store.audit, death, STORE_WRITES, 'audit.'),
    // The row is removed after the objects, and each removal is a write of its own.
    expire: (limit, removeObjects) => {
      const expiring: Promise<number> = store.expire(limit, async (ids) => {
        await removeObjects(ids)
        // The failure is handled below.
        death.write('expire', () => expiring).catch(() => {})
      })
      return death.read(() => expiring)
    },
    watch: (id, changed) =>
      watch(id, (instance) => {
        if (!death.isDead) changed(instance)
      }),
    now,
    close,
  }
}

export function mortalObjects(objects: ObjectStore, death: Death): ObjectStore {
  const writes = new Set(['put', 'removeOwner'])
  return {
    ...mortal(objects, death, writes),
    read: (id, range) => objects.read(id, range),
    owners: (untouchedForMs) => objects.owners(untouchedForMs),
    async writeChunks(id, options) {
      const writer = await death.write('writeChunks', () => objects.writeChunks(id, options))
      return {
        write: (bytes) => death.write('chunk', () => writer.write(bytes)),
        finish: () => death.write('finish', () => writer.finish()),
      }
    },
  }
}

/** A clock whose timers stop when the process ends. */
export function mortalClock(clock: Clock, death: Death): Clock {
  return {
    now: clock.now,
    monotonicMs: clock.monotonicMs,
    schedule: (delayMs, run) =>
      clock.schedule(delayMs, () => {
        if (!death.isDead) run()
      }),
  }
}

function mortal<T extends object>(target: T, death: Death, writes: ReadonlySet<string>, prefix = ''): T {
  const methods = Object.entries(target).filter(([, method]) => typeof method === 'function') as [string, Method][]
  const wrapped = methods.map(([name, method]): [string, Method] => {
    const call = (args: unknown[]) => method.apply(target, args) as Promise<unknown>
    if (writes.has(prefix + name)) return [name, (...args) => death.write(prefix + name, () => call(args))]
    return [name, (...args) => death.read(() => call(args))]
  })
  return Object.fromEntries(wrapped) as T
}
