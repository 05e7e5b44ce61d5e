/**
 * Counts the steps of a compiled validator and stops it when its budget is used up. ajv cannot be stopped from outside.
 * So each subschema in a copy of the schema gets a keyword whose code takes one step from the budget.
 */
import { createRequire } from 'node:module'
import type { KeywordCxt } from 'ajv'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { PlainSchema } from '../../core/operation/schema.ts'
import { KEYWORDS } from '../keywords.ts'
import { ownSteps } from './cost.ts'
import { TooCostly } from './too-costly.ts'
import { weightOf } from './weight.ts'

const require = createRequire(import.meta.url)

const STEP = 'callplane:step'

/**
 * One per compiled validator, whose code refers to it. Validators are synchronous, so only one check uses it at a time.
 */
export class Meter {
  left = Number.POSITIVE_INFINITY

  stop(): never {
    throw new TooCostly('a check exceeded its step budget')
  }

  spend(steps: number): void {
    this.left -= steps
    if (this.left < 0) this.stop()
  }

  /**
   * For keywords whose cost grows with the length of a text or the keys of an object. Nested values are counted where
   * they are checked.
   */
  spendOn(value: unknown, steps: number): void {
    this.spend(steps + surface(value))
  }
}

function surface(value: unknown): number {
  if (typeof value === 'string') return weightOf(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 0
  let keys = 0
  for (const key in value) keys += weightOf(key)
  return keys
}

interface Step {
  steps: number
  lengthy: boolean
}

/** Adds the keyword that `withSteps` puts into a schema. */
export function addMeter(ajv: Ajv2020, meter: Meter): void {
  const { _ } = require('ajv') as typeof import('ajv')
  ajv.addKeyword({
    keyword: STEP,
    // Before all other rules, so that no work is done before it.
    before: '$comment',
    schemaType: 'object',
    code({ gen, data, schema }: KeywordCxt) {
      const held = gen.scopeValue('obj', { ref: meter })
      const { steps, lengthy } = schema as Step
      if (lengthy) gen.code(_`${held}.spendOn(${data}, ${steps})`)
      else gen.if(_`(${held}.left -= ${steps}) < 0`, () => gen.code(_`${held}.stop()`))
    },
  })
}

/** Keywords that read a whole text, or every key of an object. */
const LENGTHY = new Set(
  'pattern format minLength maxLength additionalProperties patternProperties propertyNames unevaluatedProperties minProperties maxProperties'.split(
    ' ',
  ),
)

function isTelling(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && ('const' in schema || 'enum' in schema)
}

/**
 * Copies a schema so that every subschema counts a step, including those under unknown keywords, because a reference
 * may point there.
 */
export function withSteps(root: PlainSchema): PlainSchema {
  const copies = new Map<object, object>()

  function copySchema(schema: unknown): unknown {
    if (typeof schema !== 'object' || schema === null) return schema
    const known = copies.get(schema)
    if (known) return known
    const copy: Record<string, unknown> = {}
    copies.set(schema, copy)
    const keywords = Object.keys(schema)
    for (const keyword of keywords) copy[keyword] = copyMember(keyword, (schema as PlainSchema)[keyword])
    if (keywords.length > 0) {
      const lengthy = keywords.some((keyword) => LENGTHY.has(keyword))
      copy[STEP] = { steps: ownSteps(schema), lengthy } satisfies Step
    }
    return copy
  }

  function copyMember(keyword: string, value: unknown): unknown {
    const shape = KEYWORDS.get(keyword)
    if (shape === 'schema') return copySchema(value)
    if (shape === 'schema list' && Array.isArray(value)) return value.map(copySchema)
    if (shape === 'schema map' || shape === 'schema map by pattern') return copyMap(value)
    if (shape !== undefined) return value
    return Array.isArray(value) ? value.map(copySchema) : copySchema(value)
  }

  function copyMap(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    // Fields that distinguish alternatives are checked before fields that may be deep. The order of fields has no
    // meaning.
    const entries = Object.entries(value).sort(([, a], [, b]) => Number(isTelling(b)) - Number(isTelling(a)))
    return Object.fromEntries(entries.map(([name, schema]) => [name, copySchema(schema)]))
  }

  return copySchema(root) as PlainSchema
}
