/** What `unevaluatedProperties` and `unevaluatedItems` need: the parts of a value that some keyword has looked at. */

export interface Evaluated {
  readonly keys: Set<string>
  readonly items: Set<number>
}

export function newEvaluated(wanted: boolean): Evaluated | undefined {
  return wanted ? { keys: new Set(), items: new Set() } : undefined
}

export function joinEvaluated(into: Evaluated | undefined, from: Evaluated | undefined): void {
  if (!into || !from) return
  for (const key of from.keys) into.keys.add(key)
  for (const item of from.items) into.items.add(item)
}
