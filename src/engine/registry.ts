/**
 * All operations of a server by name, including removed ones. It finds collisions and missing versions. They are an
 * error at start-up. Later, an operation that collides is left out.
 */

import { Fault } from '../core/fault.ts'
import { sunsetOf } from '../core/operation/defaults.ts'
import {
  compareVersions,
  lineageOf,
  nameIn,
  type OperationName,
  parseName,
  unknownOperation,
} from '../core/operation/names.ts'
import type { Operation, Tombstone } from '../core/operation/operation.ts'
import type { Catalog } from '../core/ports/catalog.ts'

/** The engine's view. Protocols see only `Catalog`. */
export interface Registry extends Catalog {
  /** True if the operation is not past its sunset. */
  isServed(operation: Operation, now: number): boolean
  /** By registry key, for calls that were accepted earlier. It also finds operations past their sunset. */
  byKey(key: string): Operation | undefined
  /** The current version under this name. It also finds an operation past its sunset. */
  latest(name: string): Operation | undefined
  /** Registry keys of all operations that can run. The array is the same object until they change. */
  readonly keys: readonly string[]
  /**
   * Lets the current version of an operation run calls that were accepted under a version that no longer exists. All
   * versions under one name have the same contract. False if there is no current version.
   */
  inherit(key: string): boolean
  /**
   * Replaces all operations of this source. An operation that collides with another one is left out, so that the server
   * keeps running and existing operations keep their names.
   */
  replace(source: string, operations: readonly Operation[]): readonly Omission[]
}

/** An operation that was left out, and why. */
export interface Omission {
  operation: Operation
  why: Fault
}

interface Entry {
  operation: Operation
  goneAt: number
}

interface Index {
  operations: readonly Operation[]
  byKey: Map<string, Operation>
  byName: Map<string, Entry>
  keys: readonly string[]
  hasPublic: boolean
  /** Indexed separately, because there are few and each discovery reads them. */
  internal: readonly Entry[]
}

export function createRegistry(defined: readonly Operation[], tombstones: readonly Tombstone[] = []): Registry {
  const gone = new Map(tombstones.map((tombstone) => [tombstone.name, tombstone]))
  const sources = new Map<string, readonly Operation[]>()
  const inherited = new Set<string>()
  const watchers = new Set<() => void>()
  const [omission] = admit([], defined, gone)
  if (omission) throw omission.why
  const started = firstVersions([...defined.map(({ name }) => name), ...[...gone.keys()].map(parseName)])
  const unstarted = [...gone.keys()].flatMap((name) => startProblem(parseName(name), started) ?? [])
  if (unstarted[0] !== undefined) throw collision(unstarted[0])
  let index = buildIndex(defined, inherited)

  return {
    get operations() {
      return index.operations
    },
    get keys() {
      return index.keys
    },
    get hasPublic() {
      return index.hasPublic
    },
    inherit(key) {
      if (!index.byName.has(nameIn(key))) return false
      inherited.add(key)
      index = buildIndex(index.operations, inherited)
      return true
    },
    replace(source, operations) {
      sources.delete(source)
      const others = [...defined, ...[...sources.values()].flat()]
      const omissions = admit(others, operations, gone)
      const leftOut = new Set(omissions.map(({ operation }) => operation))
      sources.set(
        source,
        operations.filter((operation) => !leftOut.has(operation)),
      )
      index = buildIndex([...defined, ...[...sources.values()].flat()], inherited)
      for (const told of watchers) told()
      return omissions
    },
    watch(changed) {
      // A new function each time, because the same callback may be registered twice and removed once.
      const told = () => changed()
      watchers.add(told)
      return () => watchers.delete(told)
    },
    byKey: (key) => index.byKey.get(key),
    latest: (name) => index.byName.get(name)?.operation,
    isServed: (operation, now) => now < goneAt(operation),
    resolve(name, now) {
      const entry = index.byName.get(name) ?? entryOf(index.byKey.get(name))
      if (entry && now < entry.goneAt) return entry.operation
      if (entry) throw removedFault(name, entry.operation.deprecated?.sunset, entry.operation.deprecated?.replacement)
      const tombstone = gone.get(name)
      if (tombstone) throw removedFault(name, tombstone.removed.on, tombstone.removed.replacement)
      throw unknownOperation(name)
    },
    list: (now) => served([...index.byName.values()], now).filter((operation) => !operation.internal),
    listInternal: (now) => served(index.internal, now),
    listRemoved: (now) => [...[...index.byName.values()].flatMap((entry) => tombstoneOf(entry, now)), ...tombstones],
    nextChangeAt(now) {
      let next = Number.POSITIVE_INFINITY
      for (const operation of index.operations) {
        const at = goneAt(operation)
        if (at > now && at < next) next = at
      }
      return Number.isFinite(next) ? next : undefined
    },
  }
}

function buildIndex(operations: readonly Operation[], inherited: ReadonlySet<string>): Index {
  const byKey = new Map<string, Operation>()
  const byName = new Map<string, Entry>()
  for (const operation of operations) {
    byKey.set(operation.key, operation)
    const current = byName.get(operation.name.full)
    if (!current || compareVersions(current.operation.version, operation.version) < 0) {
      byName.set(operation.name.full, { operation, goneAt: goneAt(operation) })
    }
  }
  for (const key of inherited) {
    const heir = byName.get(nameIn(key))?.operation
    if (heir && !byKey.has(key)) byKey.set(key, heir)
  }
  const internal = [...byName.values()].filter(({ operation }) => operation.internal)
  const hasPublic = operations.some((operation) => operation.public)
  return { operations, byKey, byName, keys: [...byKey.keys()], hasPublic, internal }
}

function served(entries: readonly Entry[], now: number): Operation[] {
  return entries.filter((entry) => now < entry.goneAt).map((entry) => entry.operation)
}

function tombstoneOf({ operation, goneAt }: Entry, now: number): Tombstone[] {
  const { name, internal, deprecated } = operation
  if (internal || now < goneAt || deprecated?.sunset === undefined) return []
  const { sunset: on, replacement } = deprecated
  return [{ name: name.full, removed: { on, ...(replacement !== undefined && { replacement }) } }]
}

/** The operations that collide with others or have no v1. */
function admit(
  others: readonly Operation[],
  operations: readonly Operation[],
  gone: ReadonlyMap<string, Tombstone>,
): Omission[] {
  const taken = new Set(others.map(({ key }) => key))
  const names = [...others, ...operations].map(({ name }) => name)
  const started = firstVersions([...names, ...[...gone.keys()].map(parseName)])
  const omissions: Omission[] = []
  for (const operation of operations) {
    const { key, name } = operation
    const problem = taken.has(key)
      ? `${key} is defined twice.`
      : gone.has(name.full)
        ? `${name.full} is both defined and listed as removed; keep one of the two.`
        : startProblem(name, started)
    if (problem === undefined) taken.add(key)
    else omissions.push({ operation, why: collision(problem) })
  }
  return omissions
}

function entryOf(operation: Operation | undefined): Entry | undefined {
  return operation && { operation, goneAt: goneAt(operation) }
}

function goneAt(operation: Operation): number {
  const sunset = operation.deprecated?.sunset
  return sunset === undefined ? Number.POSITIVE_INFINITY : sunsetOf(operation.name.full, sunset)
}

/** OpenCALL, "Operation Naming Convention": all operations start at v1, so each lineage must have a v1. */
function firstVersions(names: readonly OperationName[]): ReadonlySet<string> {
  return new Set(names.filter((name) => name.major === 1).map(lineageOf))
}

function startProblem(name: OperationName, started: ReadonlySet<string>): string | undefined {
  const lineage = lineageOf(name)
  if (started.has(lineage)) return undefined
  return `${name.full} has no v1. If v1:${lineage} is gone, say so with removed('v1:${lineage}', { on: '…', replacement: '${name.full}' }).`
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
