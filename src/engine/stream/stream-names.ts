/**
 * Names that a stream has to itself, such as a broker's topic: no other stream of any caller, on any node, has them
 * before its end.
 */
import type { Instance } from '../../core/call/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'

/** A node that is lost before it has recorded the stream keeps the name for this long. */
const UNRECORDED_MS = 60_000

export class StreamNames {
  readonly #env: Environment
  readonly #store: Store
  readonly #id: string
  readonly #keys: string[] = []

  constructor(env: Environment, store: Store, id: string) {
    this.#env = env
    this.#store = store
    this.#id = id
  }

  get keys(): readonly string[] {
    return this.#keys
  }

  async claim(transport: string, name: string): Promise<boolean> {
    const { clock, digest } = this.#env
    const key = `stream-name/${transport}/${digest(name)}`
    const isOurs = await this.#store.records.add(key, this.#id, clock.now() + UNRECORDED_MS)
    if (isOurs) this.#keys.push(key)
    return isOurs
  }

  /** Written with the acceptance of the stream. */
  keeping(): readonly RecordChange[] {
    return this.#keys.map((key) => ({ key, value: this.#id }))
  }

  /** The stream has not begun. */
  release(): void {
    const { log } = this.#env
    for (const key of this.#keys)
      this.#store.records.remove(key).catch((err) => log.debug({ err }, 'could not release the name of a stream'))
  }
}

/** Written with the end of a stream. */
export function releasingNames({ extras }: Instance): readonly RecordChange[] {
  return extras?.stream?.names?.map((key) => ({ key })) ?? []
}
