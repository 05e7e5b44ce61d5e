/**
 * Lets another process use a store of this one. What that process had under lease when it ended is free again at once;
 * what it watched is watched no more.
 */
import type { Instance } from '../../core/model.ts'
import type { Advanced, Change, Lease, Store } from '../../core/ports.ts'
import { isTerminal } from '../../core/state.ts'
import type { Channel } from './channel.ts'
import { type ClaimMessage, encodeCounts } from './wire.ts'

/** Resolves when the other process has gone and left nothing behind: true if it had leases, so that work is due now. */
export function serveStore(store: Store, channel: Channel): Promise<boolean> {
  const leases = new Map<string, Lease>()
  const underWay = new Set<Promise<unknown>>()
  const changes = serveWatches(store, channel)
  let operations: readonly string[] = []

  /** Its answer is waited for before the leases of a process that has gone are taken away. */
  function write<T>(writing: Promise<T>): Promise<T> {
    underWay.add(writing)
    const done = () => void underWay.delete(writing)
    writing.then(done, done)
    return writing
  }

  function noteLease(instance: Instance): void {
    const { id, attempt, settled, state } = instance
    if (attempt > settled && !isTerminal(state)) leases.set(id, { id, attempt })
    else leases.delete(id)
  }

  function changed(instance: Instance): void {
    noteLease(instance)
    changes.toldAlready(instance)
  }

  function advanced({ applied, instance }: Advanced, change?: Change): void {
    // What it says of an attempt that it had, and that counts no more, is the last it says of it.
    if (!applied && change && leases.get(change.id)?.attempt === change.attempt) leases.delete(change.id)
    if (!applied || !instance) return
    // It changes calls that others run, too.
    if (leases.has(instance.id)) noteLease(instance)
    changes.toldAlready(instance)
  }

  channel.on('accept', async (instance: Instance, over?: string) => {
    const acceptance = await write(store.accept(instance, over))
    if (acceptance.kind !== 'created') return acceptance
    changed(instance)
    return 1
  })
  channel.on('advance', async (change: Change, revision?: number) => {
    const after = await write(store.advance(change))
    advanced(after, change)
    return after.applied && after.instance?.revision === (revision ?? Number.NaN) + 1 ? 1 : after
  })
  channel.on('answer', async (...args: Parameters<Store['answer']>) => {
    const after = await write(store.answer(...args))
    advanced(after)
    return after
  })
  channel.on('claim', async ({ slots, operations: given = operations, ...rest }: ClaimMessage) => {
    operations = given
    const claimed = await write(store.claim({ ...rest, operations, ...(slots && { slots: new Map(slots) }) }))
    for (const instance of claimed.instances) changed(instance)
    return claimed
  })
  channel.on('openCounts', async () => encodeCounts(await store.openCounts()))
  for (const name of ['alias', 'extend', 'progress', 'requestStop', 'purge'] as const) {
    channel.on(name, (...args) => write((store[name] as (...args: unknown[]) => Promise<unknown>)(...args)))
  }
  for (const name of ['get', 'find', 'overdue', 'purgeable'] as const) {
    channel.on(name, (...args) => (store[name] as (...args: unknown[]) => Promise<unknown>)(...args))
  }
  serveEach('records', store.records, ['put', 'get', 'add', 'replace', 'take', 'remove', 'list', 'purge'])
  serveEach('audit', store.audit, ['append', 'list', 'purge'])

  function serveEach<T extends object>(part: string, of: T, names: readonly (keyof T & string)[]): void {
    for (const name of names) {
      channel.on(`${part}.${name}`, (...args) => write((of[name] as (...args: unknown[]) => Promise<unknown>)(...args)))
    }
  }

  return channel.closed.then(async () => {
    changes.stop()
    while (underWay.size > 0) await Promise.allSettled(underWay)
    // Extended by nothing: due at once, where the lease still stands.
    if (leases.size > 0) await store.extend([...leases.values()], 0)
    return leases.size > 0
  })
}

/** A change that its own maker is told of by the answer is not sent to it once more. */
function serveWatches(store: Store, channel: Channel) {
  const watched = new Map<string, () => void>()
  /** By the answer to its maker; the last revision of each instance that is watched. */
  const told = new Map<string, number>()

  channel.on('watch', (id: string) => {
    const stop = store.watch(id, (instance) => {
      // The answers of the same commit come first.
      queueMicrotask(() => queueMicrotask(() => send(instance)))
    })
    watched.set(id, stop)
  })
  channel.on('unwatch', (id: string) => {
    watched.get(id)?.()
    watched.delete(id)
    told.delete(id)
  })

  function send(instance: Instance): void {
    const { id, revision } = instance
    if (told.get(id) !== revision && watched.has(id)) channel.tell('changed', instance)
  }

  return {
    toldAlready({ id, revision }: Instance): void {
      if (watched.has(id)) told.set(id, revision)
    },
    stop(): void {
      for (const stop of watched.values()) stop()
      watched.clear()
    },
  }
}
