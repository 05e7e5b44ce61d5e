/** A JSON Schema compiled by ajv so that neither finding nor explaining an error costs more than the value is worth. */
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import type { PlainSchema } from '../../core/schema.ts'
import { createAjv, noteEvaluatedFor } from '../ajv.ts'
import { isBounded } from '../patterns/index.ts'
import { costOf, type SchemaCost } from './cost.ts'
import { createGuard } from './guard.ts'
import { Meter, withSteps } from './meter.ts'
import { TooCostly } from './too-costly.ts'
import { weightOf } from './weight.ts'

/** What is wrong with a value, or nothing. Throws `TooCostly` where finding out takes too much. */
export type BoundedCheck = (value: unknown) => readonly ErrorObject[] | undefined

/** Steps that any value may take: about a millisecond. */
const FREE_STEPS = 20_000
/** Steps for each part of a value: twice the subschemas, so that each may be tried on each part, within these bounds. */
const MIN_STEPS_PER_PART = 128
const MAX_STEPS_PER_PART = 256
/** All errors are named where that takes no more than this; else the first. */
const EXPLAIN_STEPS = 5_000
/** Where a check can only be stopped by the clock. Libraries take about a tenth of it for values that fit. */
const PARTS_PER_MS = 2_000
/** Steps at one place of a value above which large values run under the guard: a megabyte takes about half a second. */
const MAX_WIDTH = 50
/**
 * Values that take fewer steps than this run without it. The meter alone would not do: V8 does not optimize the code of
 * a thousand alternatives, so that a step of it takes many times as long.
 */
const FREE_WIDE_STEPS = 50_000
/** Such values fit more slowly than others, and get this many times as long. */
const WIDE_SHARE = 2

/** How long a check of a value may take under a guard, beside what every check may. */
export function worthMs(value: unknown): number {
  return weightOf(value) / PARTS_PER_MS
}

export function createBoundedCheck(schema: PlainSchema, options: Options = {}): BoundedCheck {
  const cost = costOf(schema)
  const finder = compileAlone(schema, options, cost.multiplies)
  // V8 compiles the code at its first run, which the time limit of the first value should not pay for.
  if (cost.width > MAX_WIDTH) finder.validate(undefined)
  let explainer: Compiled | undefined

  function explain(value: unknown): readonly ErrorObject[] | undefined {
    explainer ??= compileAlone(schema, { ...options, allErrors: true }, true)
    explainer.meter.left = EXPLAIN_STEPS
    try {
      explainer.validate(value)
      return explainer.validate.errors ?? undefined
    } catch (thrown) {
      if (thrown instanceof TooCostly || isOverflow(thrown)) return undefined
      throw thrown
    }
  }

  const accepts = bounded(finder, cost)
  return guarded(cost, (value) => {
    if (accepts(value)) return undefined
    const found = finder.validate.errors ?? []
    return explain(value) ?? found
  })
}

/** Only whether a value fits. Schemas share one ajv, for those that come and go: making one takes longer than compiling. */
export function createBoundedTests(): (schema: PlainSchema) => (value: unknown) => boolean {
  const meter = new Meter()
  let ajv: ReturnType<typeof createAjv> | undefined
  return (schema) => {
    ajv ??= createAjv({ addUsedSchema: false }, meter)
    const counting = withSteps(schema)
    try {
      const cost = { ...costOf(schema), multiplies: true }
      return guarded(cost, bounded({ validate: compile(ajv, counting), meter }, cost))
    } finally {
      // ajv would keep it for ever.
      ajv.removeSchema(counting)
    }
  }
}

function bounded({ validate, meter }: Compiled, cost: SchemaCost): (value: unknown) => boolean {
  if (!cost.multiplies) return validate
  const perPart = stepsPerPart(cost)
  return (value) => {
    meter.left = FREE_STEPS + perPart * weightOf(value)
    try {
      return validate(value)
    } catch (thrown) {
      if (isOverflow(thrown)) throw new TooCostly()
      throw thrown
    }
  }
}

/** Of the stack: a schema that refers to itself without going deeper into the value. */
function isOverflow(thrown: unknown): boolean {
  return thrown instanceof RangeError
}

function guarded<T>({ patterns, width }: SchemaCost, check: (value: unknown) => T): (value: unknown) => T {
  const isWide = width > MAX_WIDTH
  const always = ![...patterns].every(isBounded)
  if (!isWide && !always) return check
  const guard = createGuard()
  const small = always ? 0 : FREE_WIDE_STEPS / width
  return (value) => {
    if (weightOf(value, small) <= small) return check(value)
    return guard(isWide ? WIDE_SHARE * worthMs(value) : worthMs(value), () => check(value))
  }
}

function stepsPerPart({ subschemas }: SchemaCost): number {
  return Math.min(Math.max(2 * subschemas, MIN_STEPS_PER_PART), MAX_STEPS_PER_PART)
}

interface Compiled {
  validate: ValidateFunction
  meter: Meter
}

function compileAlone(schema: PlainSchema, options: Options, metered: boolean): Compiled {
  const meter = new Meter()
  const ajv = createAjv(options, metered ? meter : undefined)
  return { validate: compile(ajv, metered ? withSteps(schema) : schema), meter }
}

function compile(ajv: ReturnType<typeof createAjv>, schema: PlainSchema): ValidateFunction {
  noteEvaluatedFor(ajv, schema)
  const validate = ajv.compile(schema)
  // Its verdict would be a promise, and a promise counts as yes.
  if ('$async' in validate) throw new Error('"$async" is not supported')
  return validate
}
