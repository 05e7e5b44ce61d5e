/**
 * Whether a value is as a JSON Schema wants it, for schemas that a handler makes as it goes. They are known by their
 * text: the same question is often a new object each time, and compiling takes a thousand times as long as checking.
 */
import { createRequire } from 'node:module'
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { Fault } from '../core/fault.ts'

const require = createRequire(import.meta.url)

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
  let ajv: InstanceType<typeof import('ajv/dist/2020.js').Ajv2020> | undefined
  return (schema) => {
    try {
      ajv ??= createAjv()
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

function createAjv() {
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  const addFormats = (require('ajv-formats') as typeof import('ajv-formats')).default
  const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, addUsedSchema: false })
  addFormats.default(ajv)
  return ajv
}
