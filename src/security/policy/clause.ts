/**
 * A clause is something that is true or false of a call, with what an index needs to leave it out unseen: keys, at least
 * one of which every call has that the clause is true of.
 */

import type { Caller } from '../../core/caller.ts'
import type { JsonValue } from '../../core/json.ts'

/** A call as far as clauses look at it. */
export interface Situation {
  readonly caller: Caller
  readonly args: JsonValue
  readonly roles: readonly string[]
}

export type Scalar = string | number | boolean | null

/** One thing that calls differ in: the subject, a role, the value at a path. */
export interface Dimension {
  /** Two with the same id read the same. */
  readonly id: string
  /** Of a list, each item counts as a value. */
  read(situation: Situation): unknown
}

export interface Key {
  readonly dimension: Dimension
  readonly value: Scalar
}

export interface Clause {
  holds(situation: Situation): boolean
  /** Each of these alone will do; none if nothing can be said beforehand. */
  readonly keySets: readonly (readonly Key[])[]
  /** Where there are no keys: what must be true of one dimension's value, which is then read once for many clauses. */
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
