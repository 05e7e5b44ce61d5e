/** Validates plain JSON Schema with ajv. A schema is compiled when the first value arrives. */
import type { ErrorObject, Options } from 'ajv'
import { Fault } from '../core/fault.ts'
import { copyJson } from '../core/json.ts'
import { encodePointer } from '../core/json-pointer.ts'
import type { PlainSchema } from '../core/operation/schema.ts'
import { type BoundedCheck, createBoundedCheck } from './bounds/check.ts'
import { type Issue, MAX_ISSUES, type Validate } from './issues.ts'

/** No validation of the schema here: it was checked at start. */
const OPTIONS: Options = { meta: false, validateSchema: false, useDefaults: true }

export interface CompileSubject {
  operation: string
  side: string
  schema: PlainSchema
  /** Defaults are added to a copy, because the original arguments are stored. */
  hasDefaults: boolean
}

export function jsonSchemaValidator(subject: CompileSubject): Validate {
  let check: BoundedCheck | undefined
  return (value) => {
    check ??= compile(subject, 'internal')
    const input = subject.hasDefaults ? copyJson(value) : value
    const errors = check(input)
    return errors ? { issues: errors.slice(0, MAX_ISSUES).map(toIssue) } : { value: input }
  }
}

/**
 * `blame` is the kind of fault: at start the developer sees it, later it goes to the log. Each schema has its own ajv,
 * so that two operations may use the same `$id` and nothing is shared. Measured against one ajv for all: 1.14 instead
 * of 0.97 ms per schema, and 6.0 instead of 7.4 KB of memory.
 */
export function compile(subject: CompileSubject, blame: 'malformed' | 'internal'): BoundedCheck {
  const { operation, side, schema } = subject
  // The dialect was checked at start; ajv would look for its meta-schema.
  const { $schema: _dialect, ...rest } = schema
  try {
    return createBoundedCheck(rest, OPTIONS)
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new Fault(blame, `The ${side} schema of ${operation} cannot be used: ${reason}.`, {
      code: 'INVALID_SCHEMA',
      cause: thrown,
    })
  }
}

export function toIssue(error: ErrorObject): Issue {
  const { keyword, instancePath, params } = error
  const at = (key: unknown) => `${instancePath}${encodePointer([String(key)])}`
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return { path: at(params.missingProperty), message: 'is required', keyword }
    case 'additionalProperties':
      return { path: at(params.additionalProperty), message: 'is not a known field', keyword }
    case 'unevaluatedProperties':
      return { path: at(params.unevaluatedProperty), message: 'is not a known field', keyword }
    case 'propertyNames':
      return { path: at(params.propertyName), message: 'is not an allowed name', keyword }
    case 'enum':
      return { path: instancePath, message: `must be one of ${list(params.allowedValues)}`, keyword }
    case 'const':
      return { path: instancePath, message: `must be ${JSON.stringify(params.allowedValue)}`, keyword }
    default:
      return { path: instancePath, message: error.message ?? `breaks "${keyword}"`, keyword }
  }
}

function list(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ')
}
