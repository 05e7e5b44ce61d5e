/**
 * What calls brought and nobody may write down, for all attempts of a call, as long as this process lives. Where a server
 * has several processes, whichever runs the call can have it, and none keeps it once the call has ended anywhere.
 */
import type { Instance } from '../../core/instance.ts'
import type { Operation } from '../../core/operation.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { type Given, leftOf, mayHaveBrought } from '../../core/requirements.ts'
import { hasEnded } from '../follow/waiting.ts'

export class KeptGiven {
  readonly #byId = new Map<string, Given>()
  readonly #store: Pick<Store, 'watch' | 'get'>
  readonly #log: Log
  readonly #siblings: Siblings | undefined

  constructor(store: Pick<Store, 'watch' | 'get'>, log: Log, siblings: Siblings | undefined) {
    this.#store = store
    this.#log = log
    this.#siblings = siblings
  }

  /** Of a call that was taken here. */
  keep(instance: Instance, operation: Operation, given: Given): void {
    const shared = this.#siblings && sharedOf(given, operation)
    if (shared) this.#siblings?.handOver(instance.id, shared)
    this.#hold(instance, given, shared !== undefined)
  }

  /** What an attempt gets: a promise where the process that took the call may be another one. */
  of(instance: Instance, operation: Operation): Given | undefined | Promise<Given | undefined> {
    const here = this.#byId.get(instance.id)
    if (here || !this.#siblings || !mayHaveBrought(instance, operation)) return here ?? leftOf(instance)
    return this.#fetch(this.#siblings, instance)
  }

  async #fetch(siblings: Siblings, instance: Instance): Promise<Given | undefined> {
    const given = await siblings.handedOver(instance.id)
    if (given) this.#hold(instance, given, true)
    return given ?? leftOf(instance)
  }

  /** An attempt has ended the call, unless its end was not `applied`: then it goes on elsewhere, or here once more. */
  forget(instance: Instance, operation: Operation | undefined, applied: boolean): void {
    if (!applied && this.#siblings) return
    this.#byId.delete(instance.id)
    if (!operation || mayHaveBrought(instance, operation)) this.#siblings?.forget(instance.id)
  }

  #hold({ id, attempt, settled }: Instance, given: Given, handedOver: boolean): void {
    const siblings = this.#siblings
    this.#byId.set(id, given)
    if (!siblings) return
    const stop = this.#store.watch(id, (now) => {
      if (hasEnded(now)) ended()
    })
    const ended = () => {
      stop()
      this.#byId.delete(id)
      // Whoever has ended it may have told so before this was handed over.
      if (handedOver) siblings.forget(id)
    }
    // What was not begun here may have been taken up and ended before it was watched.
    if (attempt > settled) return
    this.#store.get(id).then(
      (now) => {
        if (!now || hasEnded(now)) ended()
      },
      (err) => this.#log.warn({ err }, 'it is not known whether a call has ended; what it brought is kept'),
    )
  }
}

/**
 * What may leave this process: of secrets only those that the operation names, since only then is it known afterwards
 * that there was one to forget. Which tokens came is written down with the call.
 */
function sharedOf({ tokens, secrets, userId }: Given, { requires }: Operation): Given | undefined {
  const named = new Map([...secrets].filter(([id]) => requires?.secrets?.includes(id)))
  if (tokens.size + named.size === 0) return undefined
  return { tokens, secrets: named, ...(userId !== undefined && { userId }) }
}
