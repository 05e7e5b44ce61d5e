/**
 * Checks arguments against schemas that come from outside this program, tool by tool, as they are when they are asked
 * for. A schema that cannot be used is an answer here, not a failure: nobody could have looked at it at start-up.
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { createAjv } from './ajv.ts'
import type { Issue } from './issues.ts'
import { encodePointer } from './pointer.ts'

/** ajv's list of errors has no bound of its own. */
const MAX_ERRORS = 100

type Compiled = { validate: ValidateFunction } | { problem: string }

/** What is wrong with the arguments; nothing if they are good. Compiled schemas are kept as long as the schema is. */
export function createArgumentCheck(): (schema: unknown, args: unknown) => readonly Issue[] {
  const kept = new WeakMap<object, Compiled>()
  return (schema, args) => {
    if (schema === undefined || schema === null) return []
    const known = typeof schema === 'object' ? kept.get(schema) : undefined
    const compiled = known ?? compile(schema)
    if (!known && typeof schema === 'object') kept.set(schema, compiled)
    if ('problem' in compiled) return [{ path: '', message: `Invalid schema: ${compiled.problem}`, keyword: 'schema' }]
    if (compiled.validate(args)) return []
    return (compiled.validate.errors ?? []).slice(0, MAX_ERRORS).map(toIssue)
  }
}

function compile(schema: unknown): Compiled {
  try {
    if (typeof schema !== 'object' && typeof schema !== 'boolean') throw new Error('schema must be object or boolean')
    const validate = createAjv({ allErrors: true }).compile(withoutDialect(schema as object | boolean))
    // Its verdict would be a promise, and a promise counts as yes.
    if ('$async' in validate) throw new Error('"$async" is not supported')
    return { validate }
  } catch (thrown) {
    return { problem: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

/** Tools say they are of draft-07 more often than not; what they use of it means the same in 2020-12. */
function withoutDialect(schema: object | boolean): object | boolean {
  if (typeof schema === 'boolean') return schema
  const { $schema: _dialect, ...rest } = schema as { $schema?: unknown }
  return rest
}

/** In ajv's own words. Its path of a missing field is that of the object around it; ours is the field's (reading 10). */
function toIssue({ keyword, instancePath, params, message }: ErrorObject): Issue {
  const missing = keyword === 'required' || keyword === 'dependentRequired' ? params.missingProperty : undefined
  return {
    path: missing === undefined ? instancePath : instancePath + encodePointer([String(missing)]),
    message: message ?? `breaks "${keyword}"`,
    keyword,
  }
}
