/**
 * Checks a value against a schema, on the nodes of the text: numbers are compared exactly, and every finding has its
 * path. The work is bounded by a budget, because a schema can come from a foreign server: nested `allOf` doubles the
 * work with each level, and a pattern can take years. What is not checked here, the server checks.
 */
import type { SchemaDocument, SchemaObject } from '../schema/document.ts'
import { isObject, isSchema, nameList, ownSchema, type Schema, schemaList, schemaMap } from '../schema/document.ts'
import { type ArrayNode, type JsonNode, memberOf, type ObjectNode, type Path, stringOf } from '../text/nodes.ts'
import { canonicalNode } from './equal.ts'
import { type Evaluated, joinEvaluated, newEvaluated } from './evaluated.ts'
import type { SchemaFacts } from './facts.ts'
import type { Problem, ProblemKeyword } from './problem.ts'
import { checkScalar } from './scalars.ts'

/** About 100 ms of work. */
const MAX_STEPS = 200_000
const MAX_DEPTH = 400
const MAX_PROBLEMS = 200

/** Which branch of a `oneOf` or `anyOf` the reader looks at: its findings are the ones to show. */
export type ChosenBranch = (schema: SchemaObject, branches: readonly Schema[], path: Path) => number | undefined

export type Report = (keyword: ProblemKeyword, wanted?: unknown, step?: string | number) => void

export class Checker {
  readonly problems: Problem[] = []
  /** True if the budget ended, a reference led nowhere, or a pattern cannot be tried here. */
  incomplete = false
  readonly #document: SchemaDocument
  readonly #facts: SchemaFacts
  readonly #chosen: ChosenBranch | undefined
  #steps = 0
  #depth = 0

  constructor(document: SchemaDocument, facts: SchemaFacts, chosen?: ChosenBranch) {
    this.#document = document
    this.#facts = facts
    this.#chosen = chosen
  }

  /** True if the value keeps the schema. With `quiet`, nothing is added to `problems`. */
  check(schema: Schema, node: JsonNode, path: Path, quiet = false): boolean {
    return this.#check(
      schema,
      node,
      path,
      quiet ? undefined : this.problems,
      newEvaluated(this.#document.usesUnevaluated),
    )
  }

  #check(
    schema: Schema,
    node: JsonNode,
    path: Path,
    out: Problem[] | undefined,
    outer: Evaluated | undefined,
  ): boolean {
    if (schema === true) return true
    // A schema sees what its own parts have evaluated, not what schemas beside it have.
    const seen = newEvaluated(outer !== undefined)
    let valid = true
    const report: Report = (keyword, wanted, step) => {
      valid = false
      if (out && out.length < MAX_PROBLEMS) {
        out.push({
          path: step === undefined ? path : [...path, step],
          keyword,
          severity: 'error',
          ...(wanted !== undefined && { wanted }),
        })
      }
    }
    if (schema === false) {
      report('never')
      return valid
    }
    if (++this.#steps > MAX_STEPS || this.#depth >= MAX_DEPTH) {
      this.incomplete = true
      return true
    }
    this.#depth++
    try {
      const both = (inner: Schema) => this.#check(inner, node, path, out, seen)
      if (!this.#references(schema, both)) valid = false
      if (typeof schema.$ref === 'string' && this.#document.refHidesSiblings) {
        if (valid) joinEvaluated(outer, seen)
        return valid
      }
      if (!checkScalar(schema, node, report, this.#facts)) this.incomplete = true
      if (!this.#combine(schema, node, path, out, seen, report)) valid = false
      const inner = (of: Schema, value: JsonNode, step: string | number) =>
        this.#check(of, value, [...path, step], out, newEvaluated(this.#document.usesUnevaluated))
      if (node.kind === 'object' && !this.#object(schema, node, report, inner, both, seen)) valid = false
      if (node.kind === 'array' && !this.#array(schema, node, report, inner, seen)) valid = false
      if (valid) joinEvaluated(outer, seen)
      return valid
    } finally {
      this.#depth--
    }
  }

  #references(schema: SchemaObject, both: (schema: Schema) => boolean): boolean {
    let valid = true
    for (const ref of [schema.$ref, schema.$dynamicRef]) {
      if (typeof ref !== 'string') continue
      const target = this.#document.resolve(ref, schema)
      if (target === undefined) this.incomplete = true
      else if (!both(target)) valid = false
    }
    return valid
  }

  #combine(
    schema: SchemaObject,
    node: JsonNode,
    path: Path,
    out: Problem[] | undefined,
    seen: Evaluated | undefined,
    report: Report,
  ): boolean {
    const both = (inner: Schema) => this.#check(inner, node, path, out, seen)
    const quietly = (inner: Schema) => this.#check(inner, node, path, undefined, seen)
    let valid = schemaList(schema.allOf).filter((inner) => !both(inner)).length === 0
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = schemaList(schema[keyword])
      if (branches.length === 0) continue
      // Every branch is tried: each that matches tells what it has evaluated.
      const matching = branches.filter(quietly).length
      if (matching === 0) {
        valid = false
        if (out) this.#explain(schema, keyword, branches, node, path, out, report)
      } else if (keyword === 'oneOf' && matching > 1) report('oneOfSeveral', matching)
    }
    if (isSchema(schema.not) && this.#check(schema.not, node, path, undefined, newEvaluated(seen !== undefined)))
      report('not')
    if (isSchema(schema.if)) {
      const then = quietly(schema.if) ? schema.then : schema.else
      if (isSchema(then) && !both(then)) valid = false
    }
    return valid
  }

  /** No branch matches: the findings of the chosen branch, or of the one with the fewest, say more than "none". */
  #explain(
    schema: SchemaObject,
    keyword: 'oneOf' | 'anyOf',
    branches: Schema[],
    node: JsonNode,
    path: Path,
    out: Problem[],
    report: Report,
  ): void {
    const chosen = this.#chosen?.(schema, branches, path)
    let best: Problem[] | undefined
    for (const [index, branch] of branches.entries()) {
      if (chosen !== undefined && chosen !== index) continue
      const found: Problem[] = []
      this.#check(branch, node, path, found, newEvaluated(this.#document.usesUnevaluated))
      const wrongKind = found.some((problem) => problem.keyword === 'type' && problem.path.length === path.length)
      if (chosen === undefined && wrongKind) continue
      if (!best || found.length < best.length) best = found
    }
    if (best && best.length > 0) out.push(...best.slice(0, MAX_PROBLEMS - out.length))
    else report(keyword)
  }

  #object(
    schema: SchemaObject,
    node: ObjectNode,
    report: Report,
    inner: (schema: Schema, value: JsonNode, step: string) => boolean,
    both: (schema: Schema) => boolean,
    seen: Evaluated | undefined,
  ): boolean {
    let valid = true
    const size = node.members.length
    if (typeof schema.maxProperties === 'number' && size > schema.maxProperties)
      report('maxProperties', schema.maxProperties)
    if (typeof schema.minProperties === 'number' && size < schema.minProperties)
      report('minProperties', schema.minProperties)
    for (const name of nameList(schema.required)) if (!memberOf(node, name)) report('required', name, name)
    const patterns = schemaMap(schema.patternProperties)
    for (const { key, value } of node.members) {
      if (!value) continue
      const own = ownSchema(schema.properties, key)
      const matching = patterns.filter(([pattern]) => this.#matches(pattern, key))
      if (own !== undefined && !inner(own, value, key)) valid = false
      for (const [, of] of matching) if (!inner(of, value, key)) valid = false
      const known = own !== undefined || matching.length > 0
      if (!known && isSchema(schema.additionalProperties)) {
        if (schema.additionalProperties === false) report('unknownProperty', undefined, key)
        else if (!inner(schema.additionalProperties, value, key)) valid = false
      }
      if (known || isSchema(schema.additionalProperties)) seen?.keys.add(key)
      if (isSchema(schema.propertyNames)) {
        const name: JsonNode = { kind: 'string', start: 0, end: 0, raw: JSON.stringify(key) }
        if (!this.#check(schema.propertyNames, name, [], undefined, undefined)) report('propertyNames', key, key)
      }
    }
    if (!this.#dependent(schema, node, report, both)) valid = false
    if (seen && isSchema(schema.unevaluatedProperties)) {
      for (const { key, value } of node.members) {
        if (!value || seen.keys.has(key)) continue
        if (schema.unevaluatedProperties === false) report('unknownProperty', undefined, key)
        else if (!inner(schema.unevaluatedProperties, value, key)) valid = false
        seen.keys.add(key)
      }
    }
    return valid
  }

  #dependent(schema: SchemaObject, node: ObjectNode, report: Report, both: (schema: Schema) => boolean): boolean {
    let valid = true
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      const map = schema[keyword]
      if (!isObject(map)) continue
      for (const [name, then] of Object.entries(map)) {
        if (!memberOf(node, name)) continue
        for (const needed of nameList(then)) if (!memberOf(node, needed)) report('dependentRequired', name, needed)
        if (isSchema(then) && !both(then)) valid = false
      }
    }
    return valid
  }

  #array(
    schema: SchemaObject,
    node: ArrayNode,
    report: Report,
    inner: (schema: Schema, value: JsonNode, step: number) => boolean,
    seen: Evaluated | undefined,
  ): boolean {
    let valid = true
    const { items } = node
    if (typeof schema.maxItems === 'number' && items.length > schema.maxItems) report('maxItems', schema.maxItems)
    if (typeof schema.minItems === 'number' && items.length < schema.minItems) report('minItems', schema.minItems)
    const { first, rest } = this.#facts.itemSchemas(schema)
    for (const [index, item] of items.entries()) {
      const of = first[index] ?? rest
      if (of === undefined) break
      seen?.items.add(index)
      if (of === false) report('extraItem', undefined, index)
      else if (!inner(of, item, index)) valid = false
    }
    this.#contains(schema, items, report, seen)
    if (schema.uniqueItems === true) {
      const texts = new Set<string>()
      for (const [index, item] of items.entries()) {
        const text = canonicalNode(item)
        if (texts.has(text)) report('uniqueItems', undefined, index)
        texts.add(text)
      }
    }
    if (seen && isSchema(schema.unevaluatedItems)) {
      for (const [index, item] of items.entries()) {
        if (seen.items.has(index)) continue
        if (schema.unevaluatedItems === false) report('extraItem', undefined, index)
        else if (!inner(schema.unevaluatedItems, item, index)) valid = false
        seen.items.add(index)
      }
    }
    return valid
  }

  #contains(schema: SchemaObject, items: readonly JsonNode[], report: Report, seen: Evaluated | undefined): void {
    const { contains, minContains, maxContains } = schema
    if (!isSchema(contains)) return
    let count = 0
    for (const [index, item] of items.entries()) {
      if (!this.#check(contains, item, [], undefined, newEvaluated(this.#document.usesUnevaluated))) continue
      count++
      seen?.items.add(index)
    }
    const least = typeof minContains === 'number' ? minContains : 1
    if (count < least) report('contains', least)
    if (typeof maxContains === 'number' && count > maxContains) report('maxContains', maxContains)
  }

  #matches(pattern: string, key: string): boolean {
    const matches = this.#facts.matches(pattern, key)
    if (matches === undefined) this.incomplete = true
    return matches ?? false
  }
}

/** Findings about the text itself: what the server's reader refuses, or would change. */
export function checkText(node: JsonNode, path: Path, out: Problem[], asDouble: (raw: string) => string): void {
  if (out.length >= MAX_PROBLEMS) return
  if (node.kind === 'number') {
    const read = asDouble(node.raw)
    if (read === 'too-large') out.push({ path, keyword: 'numberTooLarge', severity: 'error' })
    else if (read === 'rounded')
      out.push({ path, keyword: 'numberRounded', wanted: String(Number(node.raw)), severity: 'warning' })
  } else if (node.kind === 'string') {
    if (node.raw.includes('\\u') && stringOf(node)?.isWellFormed() === false) {
      out.push({ path, keyword: 'loneSurrogate', severity: 'error' })
    }
  } else if (node.kind === 'array') {
    for (const [index, item] of node.items.entries()) checkText(item, [...path, index], out, asDouble)
  } else if (node.kind === 'object') {
    const seen = new Set<string>()
    for (const { key, value } of node.members) {
      if (seen.has(key)) out.push({ path: [...path, key], keyword: 'duplicateKey', severity: 'error' })
      seen.add(key)
      if (value) checkText(value, [...path, key], out, asDouble)
    }
  }
}
