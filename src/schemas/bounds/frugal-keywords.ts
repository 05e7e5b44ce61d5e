/** Keywords whose code in ajv costs more than it must: in time the square of a list, in memory an error for each try. */
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

/** ajv keeps the errors of every alternative until one fits; nested alternatives that all fail kept 1.2 GB of them. */
export function forgetFailedTries(ajv: Ajv2020): void {
  for (const keyword of ['anyOf', 'oneOf', 'contains']) {
    const definition = definitionOf(ajv, keyword)
    const { code } = definition
    definition.code = (cxt: KeywordCxt, ...rest) => {
      const subschema = cxt.subschema.bind(cxt)
      cxt.subschema = (application, valid) => {
        const tried = subschema(application, valid)
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
    const isScalar = typeof item !== 'object' || item === null
    meter?.spend(weightOf(item))
    const before = isScalar ? place(scalars, item, at) : placeOfText(texts, item, at)
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
  let text: string
  try {
    text = canonicalJson(item as JsonValue)
  } catch {
    // A result that JSON cannot hold: the check for that names the place.
    return undefined
  }
  return place(texts, text, at)
}
