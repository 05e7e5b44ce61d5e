/**
 * The keys in the bucket: `{prefix}/{generation}/{owner}/{name}…`. The generation is the hour in which the owner's id was
 * made, which every id of a call contains. Bytes of old calls are therefore found by listing whole hours, and the hour
 * of an owner needs no lookup. A key is never both an object and the start of another key, which some servers refuse.
 */
import { findId, type ObjectId, parseId, parseOwner } from '../../platform/objects/ids.ts'

export interface Keys {
  /** All keys start with it. */
  readonly root: string
  generationOf(owner: string): string
  /** All keys of an owner start with it. */
  ofOwner(owner: string): string
  /** The owner of a key below this generation. */
  ownerIn(generation: string, key: string): string | undefined
  /** `undefined` for an id that cannot exist. */
  find(id: string): ObjectKeys | undefined
  /** For writing. Throws for an id that cannot exist. */
  place(id: string): ObjectKeys
}

export interface ObjectKeys {
  readonly owner: string
  /** The bytes and the facts, or the facts alone if the bytes are in parts. */
  readonly object: string
  /** The bytes of one write that was sent in parts. */
  data(write: string): string
  readonly head: string
  chunk(index: number): string
}

/** Owners whose id has no time. Calls have none of these. */
const TIMELESS = 'timeless'
const HOUR_MS = 3_600_000
/** Beyond this, a date has five digits in its year. */
const MAX_MS = Date.UTC(9999, 11, 31)
/** RFC 9562, version 7: the first 48 bits are milliseconds. */
const UUID_7 = /^([\da-f]{8})-([\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

export function createKeys(prefix: string): Keys {
  const root = prefix === '' ? '' : `${prefix}/`

  const ofOwner = (owner: string) => `${root}${generationOf(owner)}/${parseOwner(owner)}/`

  function keysOf({ owner, name }: ObjectId): ObjectKeys {
    const base = ofOwner(owner) + name
    return {
      owner,
      object: `${base}.object`,
      data: (write) => `${base}.data-${write}`,
      head: `${base}.chunks/head`,
      chunk: (index) => `${base}.chunks/${index}`,
    }
  }

  return {
    root,
    generationOf,
    ofOwner,
    ownerIn(generation, key) {
      const start = `${root}${generation}/`
      const slash = key.indexOf('/', start.length)
      return key.startsWith(start) && slash > start.length ? key.slice(start.length, slash) : undefined
    },
    find(id) {
      const found = findId(id)
      return found && keysOf(found)
    },
    place: (id) => keysOf(parseId(id)),
  }
}

/** `2026-11-17T05` */
function generationOf(owner: string): string {
  const [, high = '', low = ''] = UUID_7.exec(owner) ?? []
  const ms = high === '' ? Number.NaN : Number.parseInt(high + low, 16)
  return ms < MAX_MS ? new Date(ms).toISOString().slice(0, 13) : TIMELESS
}

/** The age of the oldest bytes that a generation can have. Infinite if the name says nothing. */
export function ageOf(generation: string, nowMs: number): number {
  const startMs = Date.parse(`${generation}:00:00Z`)
  return Number.isNaN(startMs) ? Number.POSITIVE_INFINITY : Math.max(HOUR_MS, nowMs - startMs)
}
