/**
 * Ends of attempts that the storage could not accept. They are kept in memory and written when the storage works again.
 * Each counts as a running call, so a node keeps no more of them than it may run calls.
 */

import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Advanced, Change } from '../../core/ports/store.ts'
import { underLease } from './transitions.ts'

export interface KeptWritesParts {
  env: Environment
  /** Counts a call as running. The returned function ends that. */
  occupy(instance: Instance): () => void
}

type Write = (change: Change) => Promise<Advanced>

interface KeptWrite {
  instance: Instance
  change: Change
  write: Write
  settle(advanced: Advanced | undefined): void
}

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5_000
/** The number of writes per try, because each write that fails costs a transaction. */
const BATCH = 32

export class KeptWrites {
  readonly #parts: KeptWritesParts
  /** By instance id. The next write to try is the first. */
  readonly #kept = new Map<string, KeptWrite>()
  #delayMs = FIRST_DELAY_MS
  #cancelTimer: (() => void) | undefined
  #trying: Promise<void> | undefined
  #givingUp: Promise<void> | undefined

  constructor(parts: KeptWritesParts) {
    this.#parts = parts
  }

  /** True if a write that failed with this error should be kept. */
  isKept(thrown: unknown): boolean {
    return !this.#givingUp && isStorageTrouble(thrown)
  }

  /** Resolves once the change is written. `undefined` if the node stops first. */
  keep(instance: Instance, change: Change, write: Write): Promise<Advanced | undefined> {
    // Drops the change of an older attempt, which no longer counts.
    this.#kept.get(instance.id)?.settle(undefined)
    const free = this.#parts.occupy(instance)
    return new Promise((resolve) => {
      const settle = (advanced: Advanced | undefined) => {
        free()
        resolve(advanced)
      }
      this.#kept.set(instance.id, { instance, change, write, settle })
      this.#schedule()
    })
  }

  /** True if the end of this call is kept. It is then written under this lease, and the call does not run again. */
  takesUp(instance: Instance): boolean {
    const kept = this.#kept.get(instance.id)
    if (!kept) return false
    kept.change = underLease(kept.change, instance)
    return true
  }

  /** Tries the kept writes now. */
  hurry(): void {
    if (!this.#cancelTimer) return
    this.#cancelTimer()
    this.#start()
  }

  /** Tries once more, then drops the writes that still fail. */
  giveUp(): Promise<void> {
    this.#givingUp ??= this.#tryForTheLastTime()
    return this.#givingUp
  }

  async #tryForTheLastTime(): Promise<void> {
    this.#cancelTimer?.()
    await this.#trying
    await Promise.all([...this.#kept.values()].map((kept) => this.#write(kept)))
    for (const { instance, settle } of this.#kept.values()) {
      this.#parts.env.log.error(
        fieldsOf(instance),
        'could not store the end of an attempt before the server stopped; it is lost',
      )
      settle(undefined)
    }
    this.#kept.clear()
  }

  #schedule(): void {
    if (this.#cancelTimer || this.#trying || this.#givingUp || this.#kept.size === 0) return
    this.#cancelTimer = this.#parts.env.clock.schedule(this.#delayMs, () => this.#start())
  }

  #start(): void {
    this.#cancelTimer = undefined
    this.#trying ??= this.#try().finally(() => {
      this.#trying = undefined
      this.#schedule()
    })
  }

  async #try(): Promise<void> {
    const batch = [...this.#kept.values()].slice(0, BATCH)
    const written = await Promise.all(batch.map((kept) => this.#write(kept)))
    this.#delayMs = written.includes(true) ? 0 : Math.min(MAX_DELAY_MS, Math.max(FIRST_DELAY_MS, this.#delayMs * 2))
    if (this.#kept.size === 0) this.#delayMs = FIRST_DELAY_MS
  }

  /** A write that still fails goes to the end of the list: a large one must not block smaller ones that would fit. */
  async #write(kept: KeptWrite): Promise<boolean> {
    const { instance, change } = kept
    const { log } = this.#parts.env
    try {
      const advanced = await kept.write(change)
      if (this.#kept.get(instance.id) !== kept) return true
      // The lease expired and this node claimed the call again. The change is written under the new lease.
      if (!advanced.applied && kept.change !== change) return this.#write(kept)
      this.#kept.delete(instance.id)
      if (advanced.applied) log.info(fieldsOf(instance), 'stored the end of an attempt that was kept in memory')
      kept.settle(advanced)
      return true
    } catch (thrown) {
      if (this.#kept.get(instance.id) !== kept) return true
      this.#kept.delete(instance.id)
      if (isStorageTrouble(thrown)) {
        this.#kept.set(instance.id, kept)
        return false
      }
      log.error({ ...fieldsOf(instance), err: thrown }, 'could not store the end of an attempt')
      kept.settle(undefined)
      return true
    }
  }
}

/** As `Store` reports it: the storage cannot accept the write now, but may later. */
function isStorageTrouble(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === 'unavailable' && thrown.retryable
}

function fieldsOf({ operation, requestId, attempt }: Instance): object {
  return { operation, requestId, attempt }
}
