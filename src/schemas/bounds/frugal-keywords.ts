/**
 * Replaces ajv keywords whose code costs too much: quadratic time for a list, a comparison with each allowed value, an
 * error object for each failed alternative, or the characters of every text counted.
 */
import { createRequire } from 'node:module'
import type { Code, CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { canonicalJson, type JsonValue } from '../../core/json.ts'
import type { Meter } from './meter.ts'
import { weightOf } from './weight.ts'

const require = createRequire(import.meta.url)

/** ajv compares each pair of objects in a list. This version finds equal items by their canonical text. */
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

/** ajv compares a value with each allowed value. This version looks it up, an object by its canonical text. */
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
    // A larger value equals none of them, so its text is not built.
    const weight = weightOf(value, heaviest)
    meter?.spend(weight)
    if (weight > heaviest) return false
    const text = textOf(value as object)
    return text !== undefined && texts.has(text)
  }
}

/**
 * ajv counts the characters of every text. A character is one or two units of `length`, so `length` alone decides for
 * most texts.
 */
export function replaceLength(ajv: Ajv2020): void {
  const { _ } = require('ajv') as typeof import('ajv')
  const { default: countCharacters } = require('ajv/dist/runtime/ucs2length') as { default: (text: string) => number }
  const replace = (keyword: string, fails: (cxt: KeywordCxt, count: Name) => Code) => {
    const definition = definitionOf(ajv, keyword)
    definition.$data = false
    definition.code = (cxt) => cxt.fail(fails(cxt, cxt.gen.scopeValue('func', { ref: countCharacters })))
  }
  replace('maxLength', ({ data, schema }, count) => _`${data}.length > ${schema} && ${count}(${data}) > ${schema}`)
  replace('minLength', ({ data, schema }, count) => {
    return _`${data}.length < ${schema} || ${data}.length < ${2 * schema} && ${count}(${data}) < ${schema}`
  })
}

/** The number of alternatives that one test skips once one has matched. */
const ALTERNATIVES_PER_BLOCK = 64

/** ajv nests each alternative inside the one before it. Thousands of them overflow the stack of V8's parser. */
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

/**
 * ajv creates an error for every alternative that fails and keeps it until one matches. Those errors are not used,
 * because a separate pass explains failures.
 */
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

/** Each ajv has its own copy, and the position of a keyword among the others matters. */
function definitionOf(ajv: Ajv2020, keyword: string): CodeKeywordDefinition {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object' || !('code' in rule.definition)) throw new Error(`ajv has no keyword ${keyword}`)
  return rule.definition as CodeKeywordDefinition
}

/** Returns the indices of the first two items that are equal as JSON. */
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
    // JSON cannot represent this result. Another check reports the place.
    return undefined
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}
