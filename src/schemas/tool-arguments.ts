/**
 * Checks arguments against the schemas of remote tools, as they are at the time of the call. An unusable schema is
 * reported as an issue, not as a failure, because it could not be checked at start.
 */
import type { ErrorObject } from 'ajv'
import { encodePointer } from '../core/json-pointer.ts'
import type { PlainSchema } from '../core/operation/schema.ts'
import { type BoundedCheck, createBoundedCheck } from './bounds/check.ts'
import { TooCostly } from './bounds/too-costly.ts'
import { costlyIssue, type Issue } from './issues.ts'

const MAX_ERRORS = 100

type Compiled = { check: BoundedCheck } | { problem: string }

/**
 * Returns the issues of the arguments; empty if they are valid. Compiled schemas are cached as long as the schema
 * exists.
 */
export function createArgumentCheck(): (schema: unknown, args: unknown) => readonly Issue[] {
  const kept = new WeakMap<object, Compiled>()
  return (schema, args) => {
    if (schema === undefined || schema === null) return []
    const known = typeof schema === 'object' ? kept.get(schema) : undefined
    const compiled = known ?? compile(schema)
    if (!known && typeof schema === 'object') kept.set(schema, compiled)
    if ('problem' in compiled) return [{ path: '', message: `Invalid schema: ${compiled.problem}`, keyword: 'schema' }]
    return issuesWith(compiled.check, args)
  }
}

function issuesWith(check: BoundedCheck, args: unknown): readonly Issue[] {
  try {
    return (check(args) ?? []).slice(0, MAX_ERRORS).map(toIssue)
  } catch (thrown) {
    if (thrown instanceof TooCostly) return [costlyIssue]
    throw thrown
  }
}

function compile(schema: unknown): Compiled {
  try {
    if (typeof schema !== 'object' && typeof schema !== 'boolean') throw new Error('schema must be object or boolean')
    // `false` is written as an object, because ajv copies schemas.
    const plain = schema === false ? { not: {} } : schema === true ? {} : withoutDialect(schema as PlainSchema)
    return { check: createBoundedCheck(plain) }
  } catch (thrown) {
    return { problem: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

/** Most tools declare draft-07. The keywords that they use mean the same in 2020-12. */
function withoutDialect({ $schema: _dialect, ...rest }: PlainSchema): PlainSchema {
  return rest
}

/**
 * Keeps ajv's message. For a missing field, ajv's path is that of the object around it; ours is the path of the field
 * (docs/readings.md#rest-10).
 */
function toIssue({ keyword, instancePath, params, message }: ErrorObject): Issue {
  const missing = keyword === 'required' || keyword === 'dependentRequired' ? params.missingProperty : undefined
  return {
    path: missing === undefined ? instancePath : instancePath + encodePointer([String(missing)]),
    message: message ?? `breaks "${keyword}"`,
    keyword,
  }
}
