/**
 * Lets other processes use a store of this process. When a process ends, its leases are released at once and its
 * watches stop.
 */
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import type { Acceptance, AcceptMore, Advanced, Change, Store } from '../../core/ports/store.ts'
import type { Channel } from './channel.ts'
import { type BegunMessage, type CompleteMessage, createBegunDecoder, decodeComplete } from './short-wire.ts'
import { createWatching, type Watching } from './watching.ts'
import { type ClaimMessage, decodeInstance, encodeCounts, encodeInstance, type InstanceMessage } from './wire.ts'

export interface StoreServer {
  /**
   * Resolves when the other process has ended and its leases are released. True if it had leases: their calls are due
   * now.
   */
  serve(channel: Channel): Promise<boolean>
}

type Asked = (...args: unknown[]) => Promise<unknown>

/** `failed` gets the thrown error. The other process gets only a fault with what it can do about it. */
export function createStoreServer(store: Store, failed: (thrown: unknown) => void = () => {}): StoreServer {
  /** The process that runs each call, by call id. */
  const leases = new Map<string, Lessee>()
  return {
    serve: (channel) => new Lessee(store, channel, leases, failed).left,
  }
}

/** One process that uses the store. */
class Lessee {
  readonly #store: Store
  readonly #all: Map<string, Lessee>
  readonly #failed: (thrown: unknown) => void
  /** The instances that it runs, in their last known state. */
  readonly #leased = new Map<string, Instance>()
  readonly #watching: Watching
  #operations: readonly string[] = []
  #underWay = 0
  #idle: (() => void) | undefined
  readonly left: Promise<boolean>

  constructor(store: Store, channel: Channel, all: Map<string, Lessee>, failed: (thrown: unknown) => void) {
    this.#store = store
    this.#all = all
    this.#failed = failed
    this.#watching = createWatching(store, (instance) => channel.tell('changed', encodeInstance(instance)))
    this.#serveCalls(channel)
    this.#serveRest(channel)
    this.left = channel.closed.then(() => this.#leave())
  }

  #serveCalls(channel: Channel): void {
    const store = this.#store
    const begun = createBegunDecoder()
    channel.on('alike', begun.define)
    channel.on('begun', (...message: BegunMessage) => this.#accept(begun.decode(message)))
    channel.on('accept', (message: InstanceMessage, more?: AcceptMore) => this.#accept(decodeInstance(message), more))
    channel.on('complete', (...message: CompleteMessage) => this.#advance(decodeComplete(message), message[2]))
    channel.on('advance', (change: Change, revision?: number) => this.#advance(change, revision))
    channel.on('answer', (...args: Parameters<Store['answer']>) => {
      this.#letKnow(args[0])
      return this.#write(store.answer(...args), (after) => this.#advanced(after))
    })
    channel.on('claim', ({ slots, operations = this.#operations, ...rest }: ClaimMessage) => {
      this.#operations = operations
      const claim = { ...rest, operations, ...(slots && { slots: new Map(slots) }) }
      return this.#write(store.claim(claim), (claimed) => {
        for (const instance of claimed.instances) this.#takenOver(instance)
        return claimed
      })
    })
    for (const name of ['progress', 'tell', 'requestStop'] as const) {
      channel.on(name, (about: { id: string } | string, ...args: unknown[]) => {
        this.#letKnow(typeof about === 'string' ? about : about.id)
        return this.#write((store[name] as Asked)(about, ...args))
      })
    }
  }

  #accept(instance: Instance, more?: AcceptMore): Promise<1 | Acceptance> {
    return this.#write(this.#store.accept(instance, more), (acceptance) => {
      if (acceptance.kind !== 'created') return acceptance
      this.#changed(instance)
      return 1
    })
  }

  /**
   * `revision` is the last one that the sender knows. If no other process has changed the call, the answer is just `1`.
   */
  #advance(change: Change, revision = Number.NaN): Promise<1 | Advanced> {
    const { id } = change
    this.#letKnow(id)
    return this.#write(this.#store.advance(change), (after) => {
      // Its attempt is no longer the current one. It sends no more changes of that attempt.
      if (!after.applied && !after.recordsDiffer && this.#leased.get(id)?.attempt === change.attempt) this.#unlease(id)
      this.#advanced(after)
      return after.applied && after.instance?.revision === revision + 1 ? 1 : after
    })
  }

  #serveRest(channel: Channel): void {
    const { records, audit, calls } = this.#store
    const serve = <T extends object>(of: T, prefix: string, names: readonly (keyof T & string)[]) => {
      for (const name of names) {
        channel.on(prefix + name, (...args) => this.#write((of[name] as Asked)(...args)))
      }
    }
    serve(this.#store, '', ['alias', 'get', 'find', 'extend', 'overdue'])
    serve(records, 'records.', ['put', 'get', 'add', 'replace', 'take', 'remove', 'write', 'list', 'purge'])
    serve(audit, 'audit.', ['append', 'list', 'horizon', 'purge'])
    serve(calls, 'calls.', ['page', 'count', 'attempts'])
    // The other process has the objects, so it has to remove them.
    channel.on('expire', (limit: number, asking: number) =>
      this.#write(this.#store.expire(limit, (ids) => channel.ask('removeObjects', [asking, ids]))),
    )
    channel.on('openCounts', () => this.#write(this.#store.openCounts(), encodeCounts))
    channel.on('watch', (id: string) => this.#watching.watch(id))
    channel.on('unwatch', (id: string) => this.#watching.unwatch(id))
  }

  /** When a process ends, its writes are awaited before its leases are released. */
  #write<T, R = T>(writing: Promise<T>, then?: (value: T) => R): Promise<R> {
    this.#underWay++
    return writing.then(
      (value) => {
        this.#settled()
        return then ? then(value) : (value as unknown as R)
      },
      (thrown) => {
        this.#settled()
        this.#failed(thrown)
        throw thrown
      },
    )
  }

  #settled(): void {
    if (--this.#underWay === 0) this.#idle?.()
  }

  #changed(instance: Instance): void {
    const { id, attempt, settled, state } = instance
    if (attempt > settled && !isTerminal(state)) {
      this.#leased.set(id, instance)
      this.#all.set(id, this)
    } else this.#unlease(id)
    this.#watching.toldAlready(instance)
  }

  #unlease(id: string): void {
    if (!this.#leased.delete(id)) return
    if (this.#all.get(id) === this) this.#all.delete(id)
    this.#watching.unwatchUnasked(id)
  }

  #advanced(after: Advanced): Advanced {
    const { applied, instance } = after
    if (!applied || !instance) return after
    // A process may also change calls that other processes run.
    if (this.#leased.has(instance.id)) this.#changed(instance)
    else this.#watching.toldAlready(instance)
    return after
  }

  /** A process watches the calls that it runs without asking: it gets the changes that other processes make. */
  #letKnow(id: string): void {
    const holder = this.#all.get(id)
    if (holder && holder !== this) holder.#watching.watchUnasked(id)
  }

  #takenOver(instance: Instance): void {
    const before = this.#all.get(instance.id)
    this.#changed(instance)
    if (before && before !== this) before.#lost(instance)
  }

  #lost(instance: Instance): void {
    this.#watching.handOver(instance)
    this.#leased.delete(instance.id)
  }

  async #leave(): Promise<boolean> {
    this.#watching.stop()
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
    const leases = [...this.#leased.values()].map(({ id, attempt }) => ({ id, attempt }))
    for (const { id } of leases) if (this.#all.get(id) === this) this.#all.delete(id)
    // Extended by 0 ms: if the lease is still held, the call is due at once.
    if (leases.length > 0) await this.#write(this.#store.extend(leases, 0))
    return leases.length > 0
  }
}
