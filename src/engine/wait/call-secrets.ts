/**
 * Secrets and tokens sent with a call. They are sealed in the store from the call's acceptance to its end, so that any
 * node can run the call, also after a restart. This process keeps those of its own calls in memory as well, as a cache.
 */

import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import { type Given, leftOf } from '../../core/operation/requirements.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Sealer } from '../../core/ports/secrets.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import { hasEnded } from '../follow/waiting.ts'

type Needs = Pick<Store, 'watch' | 'get' | 'records'>

export class CallSecrets {
  readonly #byId = new Map<string, Given>()
  readonly #store: Needs
  readonly #sealer: Sealer
  readonly #log: Log

  constructor(store: Needs, sealer: Sealer, log: Log) {
    this.#store = store
    this.#sealer = sealer
    this.#log = log
  }

  /** The record to write with the acceptance of this call. `undefined` if the caller sent no secrets. */
  seal(id: string, given: Given | undefined): RecordChange | undefined {
    if (!given || given.tokens.size + given.secrets.size === 0) return undefined
    const key = keyOf(id)
    return { key, value: this.#sealer.seal(key, JSON.stringify(encodeGiven(given))) }
  }

  /**
   * Keeps the secrets of a call that this node accepted. They are removed when the call ends, on this or another node.
   */
  keep({ id, attempt, settled }: Instance, given: Given): void {
    this.#byId.set(id, given)
    const stop = this.#store.watch(id, (now) => {
      if (hasEnded(now)) forget()
    })
    const forget = () => {
      stop()
      this.#byId.delete(id)
    }
    // If another node started the call, it may have ended before the watch began.
    if (attempt > settled) return
    this.#store.get(id).then(
      (now) => {
        if (!now || hasEnded(now)) forget()
      },
      (err) => this.#log.warn({ err }, 'could not check whether a call has ended; its secrets stay in memory'),
    )
  }

  /**
   * The secrets for an attempt. A promise if they must be read from the store. A fault if this node cannot unseal them.
   */
  of(instance: Instance): Given | undefined | Promise<Given | Fault | undefined> {
    const here = this.#byId.get(instance.id)
    if (here || !instance.extras?.sealed) return here ?? leftOf(instance)
    return this.#read(instance)
  }

  async #read(instance: Instance): Promise<Given | Fault | undefined> {
    const key = keyOf(instance.id)
    const sealed = await this.#store.records.get(key)
    if (sealed === undefined) return leftOf(instance)
    try {
      return decodeGiven(JSON.parse(this.#sealer.open(key, sealed)) as GivenText)
    } catch (thrown) {
      return Fault.from(thrown)
    }
  }
}

/** The records that remove the secrets. They are written with the end of the call. */
export function removingSecrets({ id, extras }: Instance): readonly RecordChange[] {
  return extras?.sealed ? [{ key: keyOf(id) }] : []
}

function keyOf(id: string): string {
  return `call-secrets/${id}`
}

interface GivenText {
  tokens: readonly [string, string][]
  secrets: readonly [string, string][]
  userId?: string
}

function encodeGiven({ tokens, secrets, userId }: Given): GivenText {
  return { tokens: [...tokens], secrets: [...secrets], ...(userId !== undefined && { userId }) }
}

function decodeGiven({ tokens, secrets, ...rest }: GivenText): Given {
  return { tokens: new Map(tokens), secrets: new Map(secrets), ...rest }
}
