/** Keywords whose code in ajv costs more than it must: in time the square of a list or a look at each allowed value, in memory an error for each try. */
import { createRequire } from 'node:module'
import type { CodeKeywordDefinition, KeywordCxt } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { canonicalJson, type JsonValue } from '../../core/json.ts'
import type { Meter } from './meter.ts'
import { weightOf } from './weight.ts'

const require = createRequire(import.meta.url)

/** ajv compares each pair of objects in a list; here equal items are found by their canonical text. */
export function replaceUniqueItems(ajv: Ajv2020, meter: Meter | undefined): void {
  const { _, str } = require('ajv') as typeof import('ajv')
  const find = (items: readonly unknown[]) => findRepeated(items, meter)
  const definition = definitionOf(ajv, 'uniqueItems')
  definition.error = {
    message: ({ params: { i, j } }) => str`must NOT have duplicate items (items ## ${j} and ${i} are identical)`,
    params: ({ params: { i, j } }) => _`{i: ${i}, j: ${j}}`,
  }
  definition.code = (cxt: KeywordCxt) => {
    if (cxt.schema !== true) return
    const held = cxt.gen.scopeValue('func', { ref: find })
    const pair = cxt.gen.const('pair', _`${held}(${cxt.data})`)
    cxt.setParams({ i: _`${pair}[1]`, j: _`${pair}[0]` })
    cxt.fail(_`${pair} !== undefined`)
  }
}

/** ajv compares a value with each of the allowed ones; here it is looked up, an object by its canonical text. */
export function replaceEnum(ajv: Ajv2020, meter: Meter | undefined): void {
  const { _ } = require('ajv') as typeof import('ajv')
  const definition = definitionOf(ajv, 'enum')
  definition.$data = false
  definition.code = (cxt: KeywordCxt) => {
    const held = cxt.gen.scopeValue('func', { ref: createLookup(cxt.schema, meter) })
    cxt.pass(_`${held}(${cxt.data})`)
  }
}

function createLookup(allowed: readonly unknown[], meter: Meter | undefined): (value: unknown) => boolean {
  const scalars = new Set(allowed.filter(isScalar))
  const objects = allowed.filter((value) => !isScalar(value))
  const texts = new Set(objects.map((value) => canonicalJson(value as JsonValue)))
  const heaviest = objects.reduce<number>((most, value) => Math.max(most, weightOf(value)), 0)
  return (value) => {
    if (isScalar(value)) return scalars.has(value)
    // A larger value equals none of them, and its text is not worth writing.
    const weight = weightOf(value, heaviest)
    meter?.spend(weight)
    if (weight > heaviest) return false
    const text = textOf(value as object)
    return text !== undefined && texts.has(text)
  }
}

/** How many alternatives are skipped by one test once one has fitted. */
const ALTERNATIVES_PER_BLOCK = 64

/** ajv writes each alternative inside the one before, and thousands of them overflow the stack of V8's parser. */
export function replaceAnyOf(ajv: Ajv2020): void {
  const { _ } = require('ajv') as typeof import('ajv')
  const definition = definitionOf(ajv, 'anyOf')
  const { code } = definition
  definition.code = (cxt: KeywordCxt, ...rest) => {
    const { gen, schema, keyword, it } = cxt
    if (it.opts.unevaluated || schema.length <= ALTERNATIVES_PER_BLOCK) return code(cxt, ...rest)
    const valid = gen.let('valid', false)
    const fits = gen.name('_valid')
    const attempt = (at: number) => {
      cxt.subschema({ keyword, schemaProp: at, compositeRule: true }, fits)
      gen.assign(valid, fits)
    }
    for (let start = 0; start < schema.length; start += ALTERNATIVES_PER_BLOCK) {
      const end = Math.min(start + ALTERNATIVES_PER_BLOCK, schema.length)
      gen.if(_`!${valid}`, () => {
        for (let at = start; at < end; at++) gen.if(_`!${valid}`, () => attempt(at))
      })
    }
    cxt.result(
      valid,
      () => cxt.reset(),
      () => cxt.error(true),
    )
  }
}

/** ajv writes an error for every alternative that fails and keeps it until one fits. Nobody reads those: explaining starts anew. */
export function forgetFailedTries(ajv: Ajv2020): void {
  for (const keyword of ['anyOf', 'oneOf', 'contains']) {
    const definition = definitionOf(ajv, keyword)
    const { code } = definition
    definition.code = (cxt: KeywordCxt, ...rest) => {
      const subschema = cxt.subschema.bind(cxt)
      cxt.subschema = (application, valid) => {
        const tried = subschema({ ...application, createErrors: false }, valid)
        cxt.reset()
        return tried
      }
      code(cxt, ...rest)
    }
  }
}

/** Each ajv has a copy of its own, and the place of a keyword among the others matters. */
function definitionOf(ajv: Ajv2020, keyword: string): CodeKeywordDefinition {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object' || !('code' in rule.definition)) throw new Error(`ajv has no keyword ${keyword}`)
  return rule.definition as CodeKeywordDefinition
}

/** The places of the first two items that are equal as JSON. */
function findRepeated(items: readonly unknown[], meter: Meter | undefined): [number, number] | undefined {
  const scalars = new Map<unknown, number>()
  const texts = new Map<string, number>()
  for (let at = 0; at < items.length; at++) {
    const item = items[at]
    meter?.spend(weightOf(item))
    const before = isScalar(item) ? place(scalars, item, at) : placeOfText(texts, item as object, at)
    if (before !== undefined) return [before, at]
  }
  return undefined
}

function place<K>(seen: Map<K, number>, key: K, at: number): number | undefined {
  const before = seen.get(key)
  if (before === undefined) seen.set(key, at)
  return before
}

function placeOfText(texts: Map<string, number>, item: object, at: number): number | undefined {
  const text = textOf(item)
  return text === undefined ? undefined : place(texts, text, at)
}

function textOf(value: object): string | undefined {
  try {
    return canonicalJson(value as JsonValue)
  } catch {
    // A result that JSON cannot hold: the check for that names the place.
    return undefined
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}
