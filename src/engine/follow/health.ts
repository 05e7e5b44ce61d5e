/**
 * Whether this node can do its work, tested at intervals, so that an idle server notices a failure too. The results are
 * for load balancers and operators. No call depends on them.
 */
import { Fault } from '../../core/fault.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Store, StoreTrouble } from '../../core/ports/store.ts'

export interface HealthParts {
  store: Pick<Store, 'records' | 'troubles'>
  objects: Pick<ObjectStore, 'info'>
  log: Log
}

/** A key that no record has, and an object that does not exist. */
const NO_RECORD = 'maintenance:probe'
const NO_OBJECT = 'maintenance/probe'
/**
 * Rounds between two tests of the rest: a request for an object may cost money, and an idle node should ask a database
 * rarely. After a failure, every round tests it.
 */
const REST_EVERY = 6

export class Health {
  readonly #parts: HealthParts
  #storageFault: Fault | undefined
  #troubles: readonly StoreTrouble[] = []
  #objectsFault: Fault | undefined
  #probing: Promise<void> | undefined
  #rounds = 0

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** The fault of the last test write. Undefined if it succeeded. */
  get storageFault(): Fault | undefined {
    return this.#storageFault
  }

  /** Other reasons why the store should not be used by this node. */
  get troubles(): readonly StoreTrouble[] {
    return this.#troubles
  }

  get objectsFault(): Fault | undefined {
    return this.#objectsFault
  }

  /** Tests the storage with a write that changes nothing, unless a write has just succeeded. Rejects if it fails. */
  async check(wrote: boolean): Promise<void> {
    const { store } = this.#parts
    const all = this.#rounds++ % REST_EVERY === 0
    // Objects are not waited for: maintenance must go on without them.
    if (all || this.#objectsFault) this.#probing ??= this.#probeObjects()
    try {
      if (!wrote) await store.records.remove(NO_RECORD)
      if (all || this.#troubles.length > 0) this.#troubles = (await store.troubles?.()) ?? []
      this.#storageFault = undefined
    } catch (thrown) {
      this.#storageFault = Fault.from(thrown)
      throw thrown
    }
  }

  /** Waits for a test under way, so that the storage can be closed. */
  async stop(): Promise<void> {
    await this.#probing
  }

  async #probeObjects(): Promise<void> {
    const { objects, log } = this.#parts
    try {
      await objects.info(NO_OBJECT)
      if (this.#objectsFault) log.info({}, 'the object storage can be reached again')
      this.#objectsFault = undefined
    } catch (thrown) {
      if (!this.#objectsFault) log.warn({ err: thrown }, 'the object storage cannot be reached')
      this.#objectsFault = Fault.from(thrown)
    }
    this.#probing = undefined
  }
}
