/** All operations of a server by name, those that are gone included. Collisions and gaps are found here, at start-up. */
import { Fault } from './fault.ts'
import { compareVersions, lineageOf, nameIn, parseName } from './names.ts'
import type { Operation, Tombstone } from './operation.ts'
import { sunsetOf } from './rules.ts'

export interface Registry {
  /** By the name a caller uses, or by registry key; throws `unknown-operation` or `removed`. */
  resolve(name: string, now: number): Operation
  /** Whether it is not past its sunset. */
  isServed(operation: Operation, now: number): boolean
  /** By registry key, for instances accepted earlier: it is found even past its sunset. */
  byKey(key: string): Operation | undefined
  /** What callers may see now: the highest version under each name, those past their sunset left out. */
  list(now: number): readonly Operation[]
  /** When some version of an operation will be gone by itself, if ever. */
  nextChangeAt(now: number): number | undefined
  /** Registry keys of all operations that can be run; the same array while they do not change. */
  readonly keys: readonly string[]
  /**
   * Lets calls that were accepted under a version that is gone be run by the one that has taken its place: under one
   * name every version keeps to the same contract. False if there is none.
   */
  inherit(key: string): boolean
}

interface Entry {
  operation: Operation
  goneAt: number
}

export function createRegistry(operations: readonly Operation[], tombstones: readonly Tombstone[] = []): Registry {
  const byKey = new Map<string, Operation>()
  const byName = new Map<string, Entry>()
  for (const operation of operations) {
    if (byKey.has(operation.key)) throw collision(`${operation.key} is defined twice.`)
    byKey.set(operation.key, operation)
    const current = byName.get(operation.name.full)
    if (!current || compareVersions(current.operation.version, operation.version) < 0) {
      byName.set(operation.name.full, { operation, goneAt: goneAt(operation) })
    }
  }
  const gone = new Map(tombstones.map((tombstone) => [tombstone.name, tombstone]))
  for (const name of gone.keys()) {
    if (byName.has(name)) throw collision(`${name} is both defined and listed as removed; keep one of the two.`)
  }
  requireFirstVersions([...byName.keys(), ...gone.keys()])
  const entries = [...byName.values()]
  let keys: readonly string[] = [...byKey.keys()]

  return {
    get keys() {
      return keys
    },
    inherit(key) {
      const heir = byName.get(nameIn(key))?.operation
      if (!heir) return false
      byKey.set(key, heir)
      keys = [...byKey.keys()]
      return true
    },
    byKey: (key) => byKey.get(key),
    isServed: (operation, now) => now < goneAt(operation),
    resolve(name, now) {
      const entry = byName.get(name) ?? entryOf(byKey.get(name))
      if (entry && now < entry.goneAt) return entry.operation
      if (entry) throw removedFault(name, entry.operation.deprecated?.sunset, entry.operation.deprecated?.replacement)
      const tombstone = gone.get(name)
      if (tombstone) throw removedFault(name, tombstone.removed.on, tombstone.removed.replacement)
      throw unknownFault(name)
    },
    list: (now) => entries.filter((entry) => now < entry.goneAt).map((entry) => entry.operation),
    nextChangeAt(now) {
      let next = Number.POSITIVE_INFINITY
      for (const operation of byKey.values()) {
        const at = goneAt(operation)
        if (at > now && at < next) next = at
      }
      return Number.isFinite(next) ? next : undefined
    },
  }
}

function entryOf(operation: Operation | undefined): Entry | undefined {
  return operation && { operation, goneAt: goneAt(operation) }
}

function goneAt(operation: Operation): number {
  const sunset = operation.deprecated?.sunset
  return sunset === undefined ? Number.POSITIVE_INFINITY : sunsetOf(operation.name.full, sunset)
}

/** OpenCALL, "Operation Naming Convention": all operations start at v1, so a lineage without one has lost its start. */
function requireFirstVersions(names: readonly string[]): void {
  const parsed = names.map(parseName)
  const started = new Set(parsed.filter((name) => name.major === 1).map(lineageOf))
  for (const name of parsed) {
    const lineage = lineageOf(name)
    if (started.has(lineage)) continue
    throw collision(
      `${name.full} has no v1. If v1:${lineage} is gone, say so with removed('v1:${lineage}', { on: '…', replacement: '${name.full}' }).`,
    )
  }
}

function collision(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_REGISTRY' })
}

function removedFault(name: string, on: string | undefined, replacement: string | undefined): Fault {
  const advice = replacement ? ` Use ${replacement} instead.` : ''
  return new Fault('removed', `${name} was removed on ${on}.${advice}`, {
    details: { removedOp: name, ...(replacement !== undefined && { replacement }) },
  })
}

function unknownFault(name: string): Fault {
  const versioned = /^v\d+:/.test(name)
  const advice = versioned ? '' : ' Names start with a version, such as v1:orders.getItem.'
  return new Fault(
    'unknown-operation',
    `There is no operation "${name.slice(0, 200)}".${advice} The registry lists those there are.`,
  )
}
