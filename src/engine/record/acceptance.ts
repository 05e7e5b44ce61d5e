/** Writes new calls, and takes over the ids of calls that ended without doing anything. */

import { storedFingerprint } from '../../core/call/fingerprint.ts'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Acceptance, RecordChange, Store } from '../../core/ports/store.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Limits } from '../limits/limits.ts'
import { duplicateRequest } from './repeats.ts'

export type Refused = Exclude<Acceptance, { kind: 'created' }>

export class Acceptances {
  readonly #env: Environment
  readonly #store: Store
  readonly #objects: ObjectStore
  readonly #limits: Limits

  constructor(env: Environment, store: Store, objects: ObjectStore, limits: Limits) {
    this.#env = env
    this.#store = store
    this.#objects = objects
    this.#limits = limits
  }

  /** Calls `giveRoomBack` unless the call is recorded. See `AcceptMore.leaseAheadMs`. */
  accept(
    instance: Instance,
    giveRoomBack: () => void,
    records?: readonly RecordChange[],
    leaseAheadMs?: number,
  ): Promise<Acceptance> {
    const more = leaseAheadMs ? { leaseAheadMs, ...(records && { records }) } : records && { records }
    return this.#store.accept(instance, more).then(
      (first) => (first.kind === 'created' ? first : this.#acceptTaken(instance, first, giveRoomBack, records)),
      (thrown) => {
        giveRoomBack()
        throw thrown
      },
    )
  }

  async #acceptTaken(
    instance: Instance,
    refused: Refused,
    giveRoomBack: () => void,
    records?: readonly RecordChange[],
  ): Promise<Acceptance> {
    let acceptance: Acceptance = refused
    try {
      acceptance = await this.#takeOver(instance, refused, records)
      return acceptance
    } finally {
      if (acceptance.kind !== 'created') giveRoomBack()
    }
  }

  /** A call that ended with missing requirements and did nothing is replaced by a repeat with the same input. */
  async #takeOver(instance: Instance, taken: Refused, records?: readonly RecordChange[]): Promise<Acceptance> {
    if (taken.kind === 'records-differ') return taken
    const { id, outcome } = taken.instance
    const unbegun = outcome?.kind === 'fault' && outcome.unbegun === true
    const yields = unbegun && taken.kind === 'request-id-taken' && this.#areSame(taken.instance, instance)
    return yields ? this.#store.accept(instance, { over: id, ...(records && { records }) }) : taken
  }

  #areSame(one: Instance, other: Instance): boolean {
    const { digest } = this.#env
    return storedFingerprint(digest, one) === storedFingerprint(digest, other)
  }

  /** Records a call that ran unrecorded. If the same request was recorded before, returns that call. */
  async insert(instance: Instance, records?: readonly RecordChange[]): Promise<Instance> {
    const first = await this.#store.accept(instance, records && { records })
    const acceptance = first.kind === 'created' ? first : await this.#takeOver(instance, first, records)
    if (acceptance.kind === 'created') {
      if (!hasEnded(instance)) this.#limits.opened(instance)
      return instance
    }
    if (acceptance.kind === 'records-differ') throw unexpected()
    if (!this.#areSame(acceptance.instance, instance)) throw duplicateRequest(instance.requestId)
    return acceptance.instance
  }

  /** The same, and removes the bytes of this call if it was not recorded. */
  async insertOrDiscard(instance: Instance, records?: readonly RecordChange[]): Promise<Instance> {
    let standing: Instance | undefined
    try {
      standing = await this.insert(instance, records)
      return standing
    } finally {
      if (standing !== instance) await this.discard(instance.id)
    }
  }

  /**
   * Removes the bytes of a call that was not recorded. A failure does not change the reply: the sweep removes the bytes
   * later.
   */
  async discard(id: string): Promise<void> {
    try {
      await this.#objects.removeOwner(id)
    } catch (err) {
      this.#env.log.warn({ err }, 'could not remove the bytes of an unrecorded call')
    }
  }
}

/** None of the records written with this call had a condition, so the store had no reason to refuse. */
export function unexpected(): Fault {
  return new Fault('internal', 'The store refused a call for an unexpected reason. Please report this as a bug.')
}
