/**
 * Finds and removes all objects of an owner. S3 has no folders, so both list keys: a request per thousand keys, however
 * many owners they belong to.
 */
import { Fault } from '../../core/fault.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { parseOwner } from '../../platform/objects/ids.ts'
import { type Bucket, MAX_REMOVED, type Page } from './bucket.ts'
import { ageOf, type Keys } from './keys.ts'

/** Owners that are to be removed share the requests of one turn. */
export class Removals {
  readonly #bucket: Bucket
  readonly #keys: Keys
  #next: { owners: Set<string>; done: Promise<void> } | undefined

  constructor(bucket: Bucket, keys: Keys) {
    this.#bucket = bucket
    this.#keys = keys
  }

  remove(owner: string): Promise<void> {
    parseOwner(owner)
    this.#next ??= this.#collect()
    this.#next.owners.add(owner)
    return this.#next.done
  }

  #collect() {
    const owners = new Set<string>()
    const done = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#next = undefined
      return this.#removeAll(owners)
    })
    return { owners, done }
  }

  async #removeAll(owners: ReadonlySet<string>): Promise<void> {
    const byGeneration = Map.groupBy(owners, (owner) => this.#keys.generationOf(owner))
    for (const [generation, names] of byGeneration) {
      let found: string[] = []
      for await (const key of this.#keysOf(generation, names)) {
        found.push(key)
        if (found.length < MAX_REMOVED) continue
        await this.#bucket.remove(found)
        found = []
      }
      await this.#bucket.remove(found)
    }
  }

  /**
   * Walks through the keys of a generation from the first owner to the last. Calls that expire together were made
   * together, so a page usually has the keys of many. If the next owner is not on the page, the walk jumps to it: never
   * more requests than owners and full pages.
   */
  async *#keysOf(generation: string, owners: readonly string[]): AsyncGenerator<string, void, void> {
    const starts = owners.map((owner) => this.#keys.ofOwner(owner)).sort()
    const wanted = new Set(owners)
    const prefix = starts.length === 1 ? (starts[0] ?? '') : `${this.#keys.root}${generation}/`
    let after = starts[0] ?? ''
    for (;;) {
      const { keys, next } = await this.#bucket.list({ prefix, startAfter: after })
      for (const { key } of keys) if (wanted.has(this.#keys.ownerIn(generation, key) ?? '')) yield key
      const last = keys.at(-1)?.key
      if (next === undefined || last === undefined) return
      const following = starts.find((start) => start > last)
      const inside = starts.some((start) => last.startsWith(start))
      if (!inside && following === undefined) return
      after = inside || following === undefined ? last : following
    }
  }
}

/**
 * Lists owners by generation. A generation is listed again when it is twice as old as the last time, so that the sweep,
 * which runs every hour, does not list everything every hour.
 */
export class OwnerList {
  readonly #bucket: Bucket
  readonly #keys: Keys
  readonly #clock: Pick<Clock, 'now'>
  /** The age of a generation when it was last listed to its end. */
  readonly #listedAt = new Map<string, number>()

  constructor(bucket: Bucket, keys: Keys, clock: Pick<Clock, 'now'>) {
    this.#bucket = bucket
    this.#keys = keys
    this.#clock = clock
  }

  async *untouched(forMs: number): AsyncGenerator<string, void, void> {
    const generations = await this.#generations()
    for (const name of this.#listedAt.keys()) if (!generations.includes(name)) this.#listedAt.delete(name)
    for (const name of generations) {
      const ageMs = ageOf(name, this.#clock.now())
      const timeless = ageMs === Number.POSITIVE_INFINITY
      // All its bytes are younger, or it was listed when it was hardly younger.
      if (ageMs <= forMs || (!timeless && ageMs < 2 * (this.#listedAt.get(name) ?? 0))) continue
      yield* this.#ownersIn(name, forMs)
      this.#listedAt.set(name, ageMs)
    }
  }

  async #generations(): Promise<string[]> {
    const { root } = this.#keys
    const names: string[] = []
    for await (const { prefixes } of this.#pages(root, '/')) {
      for (const prefix of prefixes) names.push(prefix.slice(root.length, -1))
    }
    return names
  }

  /** The keys of an owner follow each other. An owner is as old as its newest key. */
  async *#ownersIn(generation: string, forMs: number): AsyncGenerator<string, void, void> {
    let current: { owner: string; newestMs: number } | undefined
    let nowMs = 0
    const isOld = () => current !== undefined && current.newestMs < nowMs - forMs
    for await (const page of this.#pages(`${this.#keys.root}${generation}/`)) {
      nowMs = clockOf(page)
      for (const { key, modifiedMs } of page.keys) {
        const owner = this.#keys.ownerIn(generation, key)
        // Not a key of ours.
        if (owner === undefined || !isOwner(owner)) continue
        if (owner !== current?.owner) {
          if (current && isOld()) yield current.owner
          current = { owner, newestMs: modifiedMs }
        }
        current.newestMs = Math.max(current.newestMs, modifiedMs)
      }
    }
    if (current && isOld()) yield current.owner
  }

  async *#pages(prefix: string, delimiter?: string): AsyncGenerator<Page, void, void> {
    let next: string | undefined
    do {
      const page = await this.#bucket.list({
        prefix,
        ...(delimiter !== undefined && { delimiter }),
        ...(next !== undefined && { next }),
      })
      yield page
      next = page.next
    } while (next !== undefined)
  }
}

/** Dates are compared by the clock that wrote them. */
function clockOf({ nowMs }: Page): number {
  if (!Number.isNaN(nowMs)) return nowMs
  throw new Fault('unavailable', 'The object storage does not say what time it is, so nothing can be swept.', {
    code: 'STORAGE_FAILED',
    ofStorage: true,
  })
}

function isOwner(owner: string): boolean {
  try {
    return parseOwner(owner) === owner
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}
