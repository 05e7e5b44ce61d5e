/** Finds schemas that refer to themselves for the same value. A validator would never finish with them. */
import { Unmappable } from './unmappable.ts'

/** Keywords whose schemas apply to the same value, and not to a part of it. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']

/** By the names below `$defs`. */
export function refuseEndless(schemas: ReadonlyMap<string, unknown>): void {
  const edges = new Map([...schemas].map(([name, schema]) => [name, [...appliedBy(schema)]]))
  const ended = new Set<string>()
  for (const start of schemas.keys()) {
    // A path of names, each with the edges that are still to be followed.
    const path: { name: string; left: string[] }[] = []
    const open = new Set<string>()
    const enter = (name: string) => {
      if (open.has(name)) throw new Unmappable(`the schema ${name} contains itself without an end`)
      if (ended.has(name)) return
      open.add(name)
      path.push({ name, left: [...(edges.get(name) ?? [])] })
    }
    enter(start)
    for (let last = path.at(-1); last; last = path.at(-1)) {
      const next = last.left.pop()
      if (next !== undefined) enter(next)
      else {
        open.delete(last.name)
        ended.add(last.name)
        path.pop()
      }
    }
  }
}

/** The names of the schemas that a schema applies to its own value. */
function* appliedBy(schema: unknown): Iterable<string> {
  if (typeof schema !== 'object' || schema === null) return
  const keywords = schema as Record<string, unknown>
  if (typeof keywords.$ref === 'string') yield keywords.$ref.slice('#/$defs/'.length)
  for (const name of IN_PLACE) {
    const inner = keywords[name]
    if (typeof inner !== 'object' || inner === null) continue
    const several = Array.isArray(inner) || name === 'dependentSchemas'
    for (const one of several ? Object.values(inner) : [inner]) yield* appliedBy(one)
  }
}
