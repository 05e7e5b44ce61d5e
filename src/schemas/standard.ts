/** Validation by a Standard Schema library. What it answers at once stays synchronous. */
import { Fault } from '../core/fault.ts'
import type { StandardResult, StandardSchema } from '../core/standard-schema.ts'
import { fromStandardIssue, MAX_ISSUES, type Validate, type Verdict } from './issues.ts'

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  // arktype's schemas are functions.
  const holder = typeof schema === 'function' || (typeof schema === 'object' && schema !== null)
  return holder && typeof (schema as Partial<StandardSchema>)['~standard']?.validate === 'function'
}

export function standardValidator(operation: string, side: string, schema: StandardSchema): Validate {
  const standard = schema['~standard']
  const threw = (thrown: unknown): never => {
    throw new Fault('internal', `The ${side} schema of ${operation} failed while checking a value; see the log.`, {
      code: 'SCHEMA_FAILED',
      cause: thrown,
    })
  }
  return (value) => {
    try {
      const result = standard.validate(value)
      if (!('then' in result)) return toVerdict(result, value)
      return Promise.resolve(result).then((late) => toVerdict(late, value), threw)
    } catch (thrown) {
      return threw(thrown)
    }
  }
}

function toVerdict(result: StandardResult<unknown>, input: unknown): Verdict {
  if (!result.issues) return result
  return { issues: result.issues.slice(0, MAX_ISSUES).map((issue) => fromStandardIssue(issue, input)) }
}
