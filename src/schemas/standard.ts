/** Validates by a Standard Schema library. A synchronous result stays synchronous. */
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { StandardResult, StandardSchema } from '../core/operation/schema.ts'
import { type BoundedCheck, createBoundedCheck, worthMs } from './bounds/check.ts'
import { createGuard, type Guard } from './bounds/guard.ts'
import { type LibraryCost, libraryCost } from './bounds/library.ts'
import { TooCostly } from './bounds/too-costly.ts'
import { isLargerThan } from './bounds/weight.ts'
import { toIssue } from './compile.ts'
import { costlyIssue, fromStandardIssue, MAX_ISSUES, type Validate, type Verdict } from './issues.ts'

/** Larger values are checked under a guard, which then costs less than the check itself. */
const UNGUARDED_PARTS = 1_000

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  // arktype's schemas are functions.
  const holder = typeof schema === 'function' || (typeof schema === 'object' && schema !== null)
  return holder && typeof (schema as Partial<StandardSchema>)['~standard']?.validate === 'function'
}

export interface StandardSubject {
  operation: string
  side: string
  schema: StandardSchema
  /** Returns the schema as the library exports it. Throws if it cannot. */
  exported: () => JsonObject
  /** Called once, at the first value, if every value needs a guard. */
  onCostly?: ((reason: string) => void) | undefined
}

export function standardValidator({ operation, side, schema, exported, onCostly }: StandardSubject): Validate {
  const standard = schema['~standard']
  let cost: LibraryCost | undefined
  let guard: Guard | undefined
  let published: BoundedCheck | undefined

  const threw = (thrown: unknown): never => {
    if (thrown instanceof TooCostly) throw thrown
    throw new Fault('internal', `The ${side} schema of ${operation} failed while checking a value; see the log.`, {
      code: 'SCHEMA_FAILED',
      cause: thrown,
    })
  }

  function judge(): LibraryCost {
    const judged = libraryCost(attempt(exported))
    if (judged.reason !== undefined) onCostly?.(judged.reason)
    return judged
  }

  function validateGuarded(value: unknown): Verdict | Promise<Verdict> {
    guard ??= createGuard()
    try {
      return settle(
        guard(worthMs(value), () => standard.validate(value)),
        value,
      )
    } catch (thrown) {
      if (!(thrown instanceof TooCostly)) throw thrown
      const schemaOfCallers = attempt(exported)
      if (!schemaOfCallers) throw thrown
      // The library was stopped. The published schema can still name a problem at no cost.
      published ??= createBoundedCheck(schemaOfCallers, { validateSchema: false })
      const [first] = published(value) ?? []
      if (!first) throw thrown
      return { issues: [toIssue(first), costlyIssue] }
    }
  }

  function settle(result: ReturnType<typeof standard.validate>, value: unknown): Verdict | Promise<Verdict> {
    if (!('then' in result)) return toVerdict(result, value)
    return Promise.resolve(result).then((late) => toVerdict(late, value), threw)
  }

  return (value) => {
    try {
      cost ??= judge()
      const { care } = cost
      if (care === 'all' || isLargerThan(value, UNGUARDED_PARTS, care === 'parts and text'))
        return validateGuarded(value)
      return settle(standard.validate(value), value)
    } catch (thrown) {
      return threw(thrown)
    }
  }
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    // The start reports this if the published schema is needed: it must then be given in `jsonSchema`.
    return undefined
  }
}

function toVerdict(result: StandardResult<unknown>, input: unknown): Verdict {
  if (!result.issues) return result
  return { issues: result.issues.slice(0, MAX_ISSUES).map((issue) => fromStandardIssue(issue, input)) }
}
