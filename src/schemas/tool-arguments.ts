/**
 * Checks arguments against schemas that come from outside this program, tool by tool, as they are when they are asked
 * for. A schema that cannot be used is an answer here, not a failure: nobody could have looked at it at start-up.
 */
import type { ErrorObject } from 'ajv'
import type { PlainSchema } from '../core/schema.ts'
import { type BoundedCheck, createBoundedCheck } from './bounds/check.ts'
import { TooCostly } from './bounds/too-costly.ts'
import { costlyIssue, type Issue } from './issues.ts'
import { encodePointer } from './pointer.ts'

const MAX_ERRORS = 100

type Compiled = { check: BoundedCheck } | { problem: string }

/** What is wrong with the arguments; nothing if they are good. Compiled schemas are kept as long as the schema is. */
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
    // `false` as a schema with keywords: ajv has copies made of it.
    const plain = schema === false ? { not: {} } : schema === true ? {} : withoutDialect(schema as PlainSchema)
    return { check: createBoundedCheck(plain) }
  } catch (thrown) {
    return { problem: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

/** Tools say they are of draft-07 more often than not; what they use of it means the same in 2020-12. */
function withoutDialect({ $schema: _dialect, ...rest }: PlainSchema): PlainSchema {
  return rest
}

/** In ajv's own words, but the path of a missing field is the field's own: docs/readings.md#rest-10. */
function toIssue({ keyword, instancePath, params, message }: ErrorObject): Issue {
  const missing = keyword === 'required' || keyword === 'dependentRequired' ? params.missingProperty : undefined
  return {
    path: missing === undefined ? instancePath : instancePath + encodePointer([String(missing)]),
    message: message ?? `breaks "${keyword}"`,
    keyword,
  }
}
