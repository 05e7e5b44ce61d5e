/** Compiles a JSON Schema with ajv and bounds the cost of finding and explaining errors by the size of the value. */
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import type { PlainSchema } from '../../core/operation/schema.ts'
import { createAjv, noteEvaluatedFor } from '../ajv.ts'
import { isBounded } from '../patterns/index.ts'
import { costOf, type SchemaCost } from './cost.ts'
import { createGuard } from './guard.ts'
import { Meter, withSteps } from './meter.ts'
import { TooCostly } from './too-costly.ts'
import { weightOf } from './weight.ts'

/** Returns the errors of a value, or `undefined` if it is valid. Throws `TooCostly` if the check exceeds its budget. */
export type BoundedCheck = (value: unknown) => readonly ErrorObject[] | undefined

/** Steps that every value may take: about a millisecond. */
const FREE_STEPS = 20_000
/**
 * Steps for each part of a value: twice the number of subschemas, so that each can be tried on each part, within these
 * bounds.
 */
const MIN_STEPS_PER_PART = 128
const MAX_STEPS_PER_PART = 256
/** All errors are listed if that takes no more steps than this; otherwise only the first. */
const EXPLAIN_STEPS = 5_000
/** The time limit for checks that only the clock can stop. Libraries take about a tenth of it for valid values. */
const PARTS_PER_MS = 2_000
/** Steps at one place of a value above which large values run under the guard: a megabyte takes about half a second. */
const MAX_WIDTH = 50
/**
 * Values that take fewer steps than this run without the guard. The meter alone is not enough: V8 does not optimize the
 * code of a thousand alternatives, so each of its steps takes many times as long.
 */
const FREE_WIDE_STEPS = 50_000
/** Valid values of such schemas take longer, so they get this many times the limit. */
const WIDE_SHARE = 2

/** The time for a check under a guard that depends on the value, in addition to the time that every check gets. */
export function worthMs(value: unknown): number {
  return weightOf(value) / PARTS_PER_MS
}

export function createBoundedCheck(schema: PlainSchema, options: Options = {}): BoundedCheck {
  const cost = costOf(schema)
  const finder = compileAlone(schema, options, cost.multiplies)
  // V8 compiles the code at its first run. That time should not count against the first value.
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

/**
 * Returns checks that only say whether a value is valid. For short-lived schemas: they share one ajv, because creating
 * one takes longer than compiling.
 */
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
      // Otherwise ajv would keep the schema forever.
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

/** A stack overflow: the schema refers to itself without going deeper into the value. */
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
  // An async validator returns a promise, which would count as valid.
  if ('$async' in validate) throw new Error('"$async" is not supported')
  return validate
}
