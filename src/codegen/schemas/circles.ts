/**
 * Removes references by which a schema would apply itself to the same value: `a` is `b`, and `b` is `a`. Such a schema says
 * nothing that can be checked, and no type can be written for it. A list of itself is no such circle.
 */
import type { JsonObject } from '../../core/json.ts'

/** A reference to the definition `to`, inside the definition `from`. */
export interface Reference {
  readonly from: string
  readonly to: string
  /** True if it applies to the same value as the definition, not to a member of it. */
  readonly sameValue: boolean
  /** The schema that holds the reference. */
  readonly holder: JsonObject
}

export function cutCircles(references: readonly Reference[]): void {
  const leaving = new Map<string, Reference[]>()
  for (const reference of references.filter(({ sameValue }) => sameValue)) {
    const others = leaving.get(reference.from)
    if (others) others.push(reference)
    else leaving.set(reference.from, [reference])
  }
  const done = new Set<string>()
  for (const start of leaving.keys()) follow(start, leaving, done)
}

/** Depth first, with a stack of its own: chains of references may be long. */
function follow(start: string, leaving: ReadonlyMap<string, readonly Reference[]>, done: Set<string>): void {
  if (done.has(start)) return
  const path = new Set([start])
  const stack = [{ name: start, next: 0 }]
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const reference = leaving.get(top.name)?.[top.next++]
    if (!reference) {
      done.add(top.name)
      path.delete(top.name)
      stack.pop()
    } else if (path.has(reference.to)) {
      delete reference.holder.$ref
    } else if (!done.has(reference.to)) {
      path.add(reference.to)
      stack.push({ name: reference.to, next: 0 })
    }
  }
}
