/**
 * Tracks which messages of one partition are done. They are done in any order, and an offset may be committed only when
 * all messages before it are done.
 */
export interface Entry {
  readonly offset: bigint
  readonly leaderEpoch: number
  isDone: boolean
  /** The next message of the partition. */
  next: Entry | undefined
}

export class PartitionProgress {
  /** The first that is not done. */
  #first: Entry | undefined
  #last: Entry | undefined
  #lastOffset = -1n
  /** All before it are done, too. */
  #done: Entry | undefined

  /** False if this message was begun before: after a rebalance the broker sends from the last commit again. */
  begin(entry: Entry): boolean {
    if (entry.offset <= this.#lastOffset) return false
    this.#lastOffset = entry.offset
    if (this.#last) this.#last.next = entry
    else this.#first = entry
    this.#last = entry
    return true
  }

  finish(entry: Entry): void {
    entry.isDone = true
    let first = this.#first
    while (first?.isDone) {
      this.#done = first
      const { next }: Entry = first
      // An old entry would keep all later ones in memory until a full collection.
      first.next = undefined
      first = next
    }
    this.#first = first
    if (!first) this.#last = undefined
  }

  /** The offset to commit, which is the next one to read. Returned once. */
  takeCommittable(): { offset: bigint; leaderEpoch: number } | undefined {
    const done = this.#done
    this.#done = undefined
    return done && { offset: done.offset + 1n, leaderEpoch: done.leaderEpoch }
  }
}
