/**
 * The schemas that apply at one place of the arguments: references followed, `allOf` joined, conditions decided by the
 * value, and one branch of each `oneOf` and `anyOf` chosen. A place is a list of schemas that all apply, so nothing has
 * to be merged, and schemas that contradict each other stay visible.
 */
import { Checker } from '../check/checker.ts'
import { SchemaFacts } from '../check/facts.ts'
import { type JsonNode, memberOf, type Path, pointerOf } from '../text/nodes.ts'
import { chooseBranch, constantOf, isNullOnly } from './branches.ts'
import {
  isObject,
  isSchema,
  ownSchema,
  type Schema,
  SchemaDocument,
  type SchemaObject,
  schemaList,
  schemaMap,
} from './document.ts'

/** All of these apply. */
export type Place = readonly Schema[]

export interface Choice {
  readonly schema: SchemaObject
  readonly keyword: 'oneOf' | 'anyOf'
  readonly branches: readonly Schema[]
  readonly active: number
  /** Names this choice at its place. */
  readonly key: string
}

export interface Applied {
  /** The keywords of all of these hold for the value. */
  readonly schemas: readonly SchemaObject[]
  /** The schemas of chosen branches, which are among `schemas`: their titles name the branch, not the place. */
  readonly ofBranches: ReadonlySet<SchemaObject>
  readonly choices: readonly Choice[]
  /** Branches that are constants: they are options with labels. */
  readonly constants: readonly (readonly Schema[])[]
  /** A branch allows null beside everything else. */
  readonly orNull: boolean
  /** A schema `false` applies: no value is right. */
  readonly never: boolean
  /** References that lead out of the document, or nowhere. */
  readonly unresolved: readonly string[]
}

const MAX_SCHEMAS = 500

export class FormModel {
  readonly document: SchemaDocument
  readonly facts = new SchemaFacts()
  /** Branches that a person has chosen, by the key of the choice. */
  readonly picks: ReadonlyMap<string, number>
  readonly #ids: Map<object, number>

  constructor(schema: unknown, picks: ReadonlyMap<string, number> = new Map(), from?: FormModel) {
    this.document = from?.document ?? new SchemaDocument(schema)
    if (from) this.facts = from.facts
    this.#ids = from ? from.#ids : new Map()
    this.picks = picks
  }

  /** The same schema with other choices. */
  withPicks(picks: ReadonlyMap<string, number>): FormModel {
    return new FormModel(undefined, picks, this)
  }

  get root(): Place {
    return [this.document.root]
  }

  isValid(schema: Schema, node: JsonNode): boolean {
    return new Checker(this.document, this.facts).check(schema, node, [], true)
  }

  /** Follows a schema that is only a reference. */
  target(schema: Schema): Schema {
    let at = schema
    for (let hops = 0; hops < 50 && isObject(at) && typeof at.$ref === 'string'; hops++) {
      const next = this.document.resolve(at.$ref, at)
      if (next === undefined) break
      at = next
    }
    return at
  }

  apply(place: Place, node: JsonNode | undefined, path: Path): Applied {
    const seen = new Set<Schema>()
    const schemas: SchemaObject[] = []
    const choices: Choice[] = []
    const constants: (readonly Schema[])[] = []
    const unresolved: string[] = []
    let orNull = false
    let never = false
    const ofBranches = new Set<SchemaObject>()
    const open: Schema[] = [...place].reverse()
    while (open.length > 0 && seen.size < MAX_SCHEMAS) {
      const schema = open.pop() as Schema
      if (schema === false) never = true
      if (!isObject(schema) || seen.has(schema)) continue
      seen.add(schema)
      const hidden = typeof schema.$ref === 'string' && this.document.refHidesSiblings
      if (!hidden) schemas.push(schema)
      const next: Schema[] = []
      for (const ref of [schema.$ref, schema.$dynamicRef]) {
        if (typeof ref !== 'string') continue
        const target = this.document.resolve(ref, schema)
        if (target === undefined) unresolved.push(ref)
        else next.push(target)
      }
      if (!hidden) {
        next.push(...schemaList(schema.allOf), ...this.#conditional(schema, node))
        for (const keyword of ['oneOf', 'anyOf'] as const) {
          const all = schemaList(schema[keyword])
          const branches = all.filter((branch) => !isNullOnly(this, branch))
          if (all.length === 0) continue
          if (branches.length < all.length) orNull = true
          if (branches.length === 1) next.push(branches[0] as Schema)
          else if (branches.length > 1 && branches.every((branch) => constantOf(this, branch))) constants.push(branches)
          else if (branches.length > 1) {
            const active = chooseBranch(this, schema, branches, node, this.pickOf(schema, path))
            choices.push({ schema, keyword, branches, active, key: this.#keyOf(schema, path) })
            const branch = branches[active] as Schema
            if (isObject(branch)) ofBranches.add(branch)
            next.push(branch)
          }
        }
      }
      if (ofBranches.has(schema)) for (const each of next) if (isObject(each)) ofBranches.add(each)
      open.push(...next.toReversed())
    }
    return { schemas, ofBranches, choices, constants, orNull, never, unresolved }
  }

  /** The schemas for the property `name`. */
  propertyPlace(applied: Applied, name: string): Schema[] {
    return applied.schemas.flatMap((schema) => {
      const own = ownSchema(schema.properties, name)
      const matching = schemaMap(schema.patternProperties)
        .filter(([pattern]) => this.facts.matches(pattern, name))
        .map(([, of]) => of)
      if (own !== undefined) matching.unshift(own)
      if (matching.length > 0) return matching
      // `unevaluatedProperties: false` beside `allOf` says nothing about the properties that another schema names.
      const rest = schema.additionalProperties ?? (schema.unevaluatedProperties || undefined)
      return isSchema(rest) ? [rest] : []
    })
  }

  itemPlace(applied: Applied, index: number): Schema[] {
    return applied.schemas.flatMap((schema) => {
      const { first, rest } = this.facts.itemSchemas(schema)
      const of = first[index] ?? rest ?? (schema.unevaluatedItems || undefined)
      return isSchema(of) ? [of] : []
    })
  }

  /** The place below `place` on the way of a path, for a value that is there or not. */
  placeAt(root: JsonNode | undefined, path: Path): Place {
    let place = this.root
    let node = root
    for (const [depth, step] of path.entries()) {
      const applied = this.apply(place, node, path.slice(0, depth))
      place = typeof step === 'string' ? this.propertyPlace(applied, step) : this.itemPlace(applied, step)
      if (node?.kind === 'object' && typeof step === 'string') node = memberOf(node, step)?.value
      else node = node?.kind === 'array' && typeof step === 'number' ? node.items[step] : undefined
    }
    return place
  }

  #conditional(schema: SchemaObject, node: JsonNode | undefined): Schema[] {
    const active: unknown[] = []
    if (isSchema(schema.if) && node) active.push(this.isValid(schema.if, node) ? schema.then : schema.else)
    for (const map of [schema.dependentSchemas, schema.dependencies]) {
      for (const [name, then] of schemaMap(map)) {
        if (node?.kind === 'object' && memberOf(node, name)) active.push(then)
      }
    }
    return active.filter(isSchema)
  }

  /** The branch that a person has chosen here. */
  pickOf(schema: SchemaObject, path: Path): number | undefined {
    return this.picks.get(this.#keyOf(schema, path))
  }

  #keyOf(schema: SchemaObject, path: Path): string {
    let id = this.#ids.get(schema)
    if (id === undefined) {
      id = this.#ids.size
      this.#ids.set(schema, id)
    }
    return `${pointerOf(path)} ${id}`
  }
}
