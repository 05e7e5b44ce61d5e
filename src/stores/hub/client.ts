/**
 * A store in another process. It sends every request over the channel. If this process holds the lease and made a
 * change, it computes the changed instance itself, so the other side does not send it back.
 */
import { applyChange } from '../../core/call/applied-change.ts'
import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import { Fault } from '../../core/fault.ts'
import { areSameKeys } from '../../core/operation/names.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Acceptance, Advanced, Change, Claim, Claimed, Store } from '../../core/ports/store.ts'
import type { Channel } from './channel.ts'
import { createSeen } from './seen.ts'
import { createBegunEncoder, encodeComplete } from './short-wire.ts'
import { type ClaimMessage, decodeCounts, decodeInstance, encodeInstance, type InstanceMessage } from './wire.ts'

const CREATED: Acceptance = { kind: 'created' }

export interface StoreClientOptions {
  /** Both processes are on one machine, so this is also the clock of the store behind the channel. */
  clock: Clock
  log?: Log
}

/** `close` leaves the channel open, because other parts may still use it. */
export function createStoreClient(channel: Channel, { clock, log }: StoreClientOptions): Store {
  const { tell } = channel
  /** The instances that this process runs, in their last known state. */
  const leased = new Map<string, Instance>()
  const seen = createSeen({
    begin: (id) => tell('watch', id),
    end: (id) => tell('unwatch', id),
    runsHere: (id) => leased.has(id),
    ...(log && { log }),
  })
  const encodeClaim = createClaimEncoder()
  const encodeBegun = createBegunEncoder((number, alike) => tell('alike', number, alike))
  /** The functions that remove objects, by the number of the `expire` request. */
  const removing = new Map<number, (ids: readonly string[]) => Promise<void>>()
  let expiries = 0
  let closing: Promise<void> | undefined
  channel.on('changed', (message: InstanceMessage) => {
    const instance = decodeInstance(message)
    const { id, attempt, state } = instance
    // Another process has taken the call over, or the call has ended.
    if (isTerminal(state) || attempt > (leased.get(id)?.attempt ?? attempt)) leased.delete(id)
    seen.hear(instance)
  })
  channel.on('removeObjects', (asking: number, ids: readonly string[]) => removing.get(asking)?.(ids))
  channel.afterEach(seen.tell)

  function ask<T>(
    name: string,
    args: readonly unknown[],
    decode?: (answer: never) => T,
    failed?: () => void,
  ): Promise<T> {
    if (closing)
      return Promise.reject(new Fault('unavailable', 'The store is closed. Send this again to a running server.'))
    return channel.ask(name, args, decode, failed)
  }

  /**
   * Stops tracking a call that another process may change from now on. Watchers in this process, including those that
   * start before the answer arrives, must hear of its changes from the other side. Later messages about the call are
   * sent in full.
   */
  function letGo(id: string): void {
    leased.delete(id)
    seen.ask(id)
  }

  function changed(instance: Instance, mine: boolean): void {
    const { id, attempt, settled, state } = instance
    if (mine && attempt > settled && !isTerminal(state)) leased.set(id, instance)
    else leased.delete(id)
    seen.note(instance)
  }

  function advanced(after: Advanced, change?: Change): Advanced {
    const { applied, instance, recordsDiffer } = after
    if (!applied && !recordsDiffer && change && leased.get(change.id)?.attempt === change.attempt)
      leased.delete(change.id)
    if (!applied || !instance) return after
    // The outcome in the change may have more details than the stored one, for a caller that waits in this process.
    const outcome = change?.outcome ?? instance.outcome
    const told = outcome && outcome !== instance.outcome ? { ...instance, outcome } : instance
    changed(told, leased.has(told.id))
    return told === instance ? after : { ...after, instance: told }
  }

  return {
    now: () => clock.now(),
    accept(instance, more) {
      const begun = more === undefined ? encodeBegun(instance) : undefined
      const decode = (acceptance: 1 | Acceptance): Acceptance => {
        if (acceptance !== 1) return acceptance
        changed(instance, true)
        return CREATED
      }
      return begun ? ask('begun', begun, decode) : ask('accept', [encodeInstance(instance), ...given(more)], decode)
    },
    alias: (alias) => ask('alias', [alias]),
    get: (id) => ask('get', [id]),
    find: (...args) => ask('find', args),
    claim: (claim) =>
      ask('claim', [encodeClaim(claim)], (claimed: Claimed) => {
        for (const instance of claimed.instances) changed(instance, true)
        return claimed
      }),
    extend: (leases, leaseMs) => ask('extend', [leases, leaseMs]),
    advance(change) {
      const before = leased.get(change.id)
      const decode = (after: 1 | Advanced) =>
        advanced(after === 1 ? { applied: true, instance: applyChange(before as Instance, change) } : after, change)
      // If the end cannot be stored, this process may never send another message about the call.
      const failed = before && (() => letGo(change.id))
      const complete = encodeComplete(change, before)
      if (complete) return ask('complete', complete, decode, failed)
      const message = [change, ...given(before?.revision)]
      // Another process may run it from then on.
      if (before && !isTerminal(change.to)) letGo(change.id)
      return ask('advance', message, decode, failed)
    },
    answer: (id, answer, failures) => ask('answer', [id, answer, ...given(failures)], advanced),
    progress(lease, progress) {
      letGo(lease.id)
      return ask('progress', [lease, progress])
    },
    tell(id) {
      letGo(id)
      return ask('tell', [id])
    },
    requestStop: (id) => ask('requestStop', [id]),
    watch: seen.watch,
    listen: seen.watchAll,
    overdue: (limit) => ask('overdue', [limit]),
    expire(limit, removeObjects) {
      const asking = ++expiries
      removing.set(asking, removeObjects)
      return ask<number>('expire', [limit, asking]).finally(() => removing.delete(asking))
    },
    openCounts: () => ask('openCounts', [], decodeCounts),
    records: {
      put: (key, value, expiresAt) => ask('records.put', [key, value, ...given(expiresAt)]),
      get: (key) => ask('records.get', [key]),
      add: (key, value, expiresAt) => ask('records.add', [key, value, ...given(expiresAt)]),
      replace: (key, expected, value, expiresAt) => ask('records.replace', [key, expected, value, ...given(expiresAt)]),
      take: (key) => ask('records.take', [key]),
      remove: (key) => ask('records.remove', [key]),
      write: (changes) => ask('records.write', [changes]),
      list: (prefix, limit, after) => ask('records.list', [prefix, limit, ...given(after)]),
      purge: (limit) => ask('records.purge', [limit]),
    },
    audit: {
      append: (entry) => ask('audit.append', [entry]),
      list: (query) => ask('audit.list', [query]),
      horizon: (query, entries) => ask('audit.horizon', [query, entries]),
      purge: (endedBefore, limit) => ask('audit.purge', [endedBefore, limit]),
    },
    calls: {
      page: (query) => ask('calls.page', [query]),
      count: (query) => ask('calls.count', [query]),
      attempts: (id) => ask('calls.attempts', [id]),
    },
    close() {
      closing ??= channel.idle()
      return closing
    },
  }
}

/** JSON has no `undefined`, so an absent optional argument is left off the end of the list. */
function given<T>(value: T | undefined): [] | [T] {
  return value === undefined ? [] : [value]
}

/** Sends the names of a node's operations when they change, not with every claim. */
function createClaimEncoder(): (claim: Claim) => ClaimMessage {
  let sent: readonly string[] | undefined
  return ({ operations, slots, ...rest }) => {
    const known = sent !== undefined && areSameKeys(sent, operations)
    if (!known) sent = [...operations]
    return { ...rest, ...(!known && { operations }), ...(slots && { slots: [...slots] }) }
  }
}
