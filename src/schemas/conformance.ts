/**
 * Checks values against schemas that a handler creates at run time. Compiled schemas are cached by their text: the same
 * question is often a new object each time, and compiling takes a thousand times as long as checking.
 */
import { LRUCache } from 'lru-cache'
import { Fault } from '../core/fault.ts'
import type { PlainSchema } from '../core/operation/schema.ts'
import { createBoundedTests } from './bounds/check.ts'
import { TooCostly } from './bounds/too-costly.ts'

const MAX_KEPT = 500

/** Throws a fault with the reason if a schema cannot be used. */
export function createConformance(): (schema: object, value: unknown) => boolean {
  const kept = new LRUCache<string, (value: unknown) => boolean>({ max: MAX_KEPT })
  const compile = createCompiler()
  return (schema, value) => {
    const text = JSON.stringify(schema)
    const accepts = kept.get(text) ?? compile(schema as PlainSchema)
    kept.set(text, accepts)
    try {
      return accepts(value)
    } catch (thrown) {
      // A value that takes too long to check counts as invalid.
      if (thrown instanceof TooCostly) return false
      throw thrown
    }
  }
}

function createCompiler(): (schema: PlainSchema) => (value: unknown) => boolean {
  const compile = createBoundedTests()
  return (schema) => {
    try {
      return compile(schema)
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      throw new Fault('internal', `The schema of a question cannot be used: ${reason}.`, {
        code: 'INVALID_SCHEMA',
        cause: thrown,
      })
    }
  }
}
