/**
 * Tracks which messages of one partition are done. They are done in any order, and an offset may be committed only when
 * all messages before it are done.
 */
interface Entry {
  readonly offset: bigint
  readonly leaderEpoch: number
  done: boolean
}

export class PartitionProgress {
  /** In the order of the partition, from the first that is not done. */
  #open: Entry[] = []
  #last = -1n
  #committable: { offset: bigint; leaderEpoch: number } | undefined

  /** `undefined` if this message was begun before: after a rebalance the broker sends from the last commit again. */
  begin(offset: bigint, leaderEpoch: number): Entry | undefined {
    if (offset <= this.#last) return undefined
    this.#last = offset
    const entry = { offset, leaderEpoch, done: false }
    this.#open.push(entry)
    return entry
  }

  finish(entry: Entry): void {
    entry.done = true
    let count = 0
    for (let first = this.#open[count]; first?.done; first = this.#open[count]) {
      this.#committable = { offset: first.offset + 1n, leaderEpoch: first.leaderEpoch }
      count++
    }
    if (count > 0) this.#open.splice(0, count)
  }

  /** The offset to commit, which is the next one to read. Returned once. */
  takeCommittable(): { offset: bigint; leaderEpoch: number } | undefined {
    const taken = this.#committable
    this.#committable = undefined
    return taken
  }
}
