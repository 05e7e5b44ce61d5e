/**
 * A clause is a predicate on a call, with keys that let an index skip it: every call for which the clause holds has at
 * least one of the keys.
 */

import type { Caller } from '../../core/call/caller.ts'
import type { JsonValue } from '../../core/json.ts'

/** The parts of a call that clauses read. */
export interface Situation {
  readonly caller: Caller
  readonly args: JsonValue
  readonly roles: readonly string[]
}

export type Scalar = string | number | boolean | null

/** A property of calls: the subject, a role, the value at a path. */
export interface Dimension {
  /** Two dimensions with the same id read the same value. */
  readonly id: string
  /** Each item of a list counts as a value. */
  read(situation: Situation): unknown
}

export interface Key {
  readonly dimension: Dimension
  readonly value: Scalar
}

export interface Clause {
  holds(situation: Situation): boolean
  /** Each set alone is sufficient for an index. Empty if no keys are known. */
  readonly keySets: readonly (readonly Key[])[]
  /** Used if there are no keys: a test of one dimension's value, which the index reads once for many clauses. */
  readonly gate?: Gate
}

export interface Gate {
  readonly dimension: Dimension
  passes(value: unknown): boolean
}

export function allOf(clauses: readonly Clause[]): Clause {
  const [only] = clauses
  if (only && clauses.length === 1) return only
  const gate = clauses.find((clause) => clause.gate)?.gate
  return {
    holds: (situation) => clauses.every((clause) => clause.holds(situation)),
    keySets: clauses.flatMap((clause) => clause.keySets),
    ...(gate && { gate }),
  }
}

export function anyOf(clauses: readonly Clause[]): Clause {
  const sets = clauses.map((clause) => clause.keySets[0])
  return {
    holds: (situation) => clauses.some((clause) => clause.holds(situation)),
    keySets: sets.includes(undefined) ? [] : [sets.flatMap((set) => set ?? [])],
  }
}

export function noneOf(clause: Clause): Clause {
  return { holds: (situation) => !clause.holds(situation), keySets: [] }
}
