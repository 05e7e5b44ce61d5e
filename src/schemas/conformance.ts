/**
 * Whether a value is as a JSON Schema wants it, for schemas that a handler makes as it goes. They are known by their
 * text: the same question is often a new object each time, and compiling takes a thousand times as long as checking.
 */
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { Fault } from '../core/fault.ts'
import { createAjv } from './ajv.ts'

const MAX_KEPT = 500

/** Throws a fault that says what is wrong with a schema that cannot be used. */
export function createConformance(): (schema: object, value: unknown) => boolean {
  const kept = new LRUCache<string, ValidateFunction>({ max: MAX_KEPT })
  const compile = createCompiler()
  return (schema, value) => {
    const text = JSON.stringify(schema)
    const validate = kept.get(text) ?? compile(schema)
    kept.set(text, validate)
    return validate(value)
  }
}

function createCompiler(): (schema: object) => ValidateFunction {
  let ajv: ReturnType<typeof createAjv> | undefined
  return (schema) => {
    try {
      ajv ??= createAjv({ addUsedSchema: false })
      const validate = ajv.compile(schema)
      // Its verdict would be a promise, and a promise counts as yes.
      if ('$async' in validate) throw new Error('"$async" is not supported')
      return validate
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      throw new Fault('internal', `The schema of a question cannot be used: ${reason}.`, {
        code: 'INVALID_SCHEMA',
        cause: thrown,
      })
    } finally {
      // What is compiled is kept by its text; ajv would keep it for ever.
      ajv?.removeSchema(schema)
    }
  }
}
