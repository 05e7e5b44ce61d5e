/**
 * The replies that connections of this process owe to addresses. While the connection is there, it sends the end
 * itself, and the note in the store is removed afterwards. What a lost process owed, `late-replies.ts` sends.
 */
import type { ReplyAddress } from '../../core/call/reply-address.ts'
import type { OwedReply } from '../../core/ports/calls.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { keptForLate, keyOf, noteOf, type Owing, owingOf } from './notes.ts'

interface Kept {
  key: string
  /** Absent if the end of the call writes the note. */
  written?: Promise<void>
}

/**
 * A message stays unacknowledged for this long if its call may end soon. After that, a note is written. It costs one
 * write of a slow call, and keeps slow calls from filling the number of messages that a broker sends unacknowledged.
 */
const KEEP_AFTER_MS = 100

export class OwedReplies {
  readonly #env: Environment
  readonly #store: Store
  readonly #kept = new Map<OwedReply, Kept>()
  readonly #keys = new Set<string>()

  constructor(env: Environment, store: Store) {
    this.#env = env
    this.#store = store
  }

  owe(address: ReplyAddress): OwedReply {
    return new Owed(address, this)
  }

  isKept(owed: OwedReply): boolean {
    return this.#kept.has(owed)
  }

  /** True if a connection of this process will send it. */
  isHere(key: string): boolean {
    return this.#keys.has(key)
  }

  /** The end of this call writes the note. */
  begin(owing: Owing, owed: OwedReply): void {
    this.#keep(owed, { key: keyOf(this.#env.digest, owing, owed.address) })
  }

  /** Resolves when the reply will reach its address even if this process ends. */
  async keep(owing: Owing, owed: OwedReply): Promise<void> {
    const before = this.#kept.get(owed)
    if (before) return before.written
    const { address } = owed
    const { instance } = owing
    const key = keyOf(this.#env.digest, owing, address)
    const { replyTo } = instance.extras ?? {}
    if (replyTo && !replyTo.direct && keyOf(this.#env.digest, owingOf(instance), replyTo) === key) {
      return this.#keep(owed, { key })
    }
    const endsAt = keptForLate(instance.keepUntil, instance.keepUntil)
    const note = noteOf(owing, address, endsAt)
    const written = this.#store.records.put(key, JSON.stringify(note), endsAt)
    this.#keep(owed, { key, written })
    try {
      await written
    } catch (thrown) {
      this.release(owed)
      throw thrown
    }
  }

  /** Writes the note if the call takes a while. The returned function is called when it has ended or is told. */
  keepSoon(owing: Owing, owed: OwedReply, kept: (() => void) | undefined): () => void {
    const { clock, log } = this.#env
    return clock.schedule(KEEP_AFTER_MS, () => {
      this.keep(owing, owed).then(kept, (err: unknown) => {
        log.warn({ err }, 'could not keep a reply address; the message is acknowledged when the call has ended')
      })
    })
  }

  #keep(owed: OwedReply, kept: Kept): void {
    this.#kept.set(owed, kept)
    this.#keys.add(kept.key)
  }

  /** Removes the note. Never rejects. */
  async pay(owed: OwedReply): Promise<void> {
    const kept = this.#kept.get(owed)
    if (!kept) return
    try {
      await kept.written
      await this.#store.records.remove(kept.key)
    } catch (err) {
      this.#env.log.warn({ err }, 'could not note that a reply was sent; it is sent again')
    }
    this.release(owed)
  }

  /** Also for one that is not kept. */
  release(owed: OwedReply): void {
    const kept = this.#kept.get(owed)
    if (!kept) return
    this.#kept.delete(owed)
    this.#keys.delete(kept.key)
  }
}

/** Every call from a broker has one, and most are never kept, so it holds nothing of its own. */
class Owed implements OwedReply {
  readonly address: ReplyAddress
  readonly #replies: OwedReplies

  constructor(address: ReplyAddress, replies: OwedReplies) {
    this.address = address
    this.#replies = replies
  }

  get isKept(): boolean {
    return this.#replies.isKept(this)
  }

  paid(): Promise<void> {
    return this.#replies.pay(this)
  }

  release(): void {
    this.#replies.release(this)
  }
}
