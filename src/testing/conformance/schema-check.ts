/** Checks values against published schemas. */
import { createArgumentCheck } from '../../schemas/index.ts'

/** A registry with more schemas than this is compiled again now and then. */
const MAX_SCHEMAS = 500

/**
 * Every case reads the registry, so the same schema arrives as many objects. It is compiled once for each text: compiling
 * took a third of the time of a run.
 */
export function createSchemaCheck(): ReturnType<typeof createArgumentCheck> {
  const check = createArgumentCheck()
  const byText = new Map<string, unknown>()
  return (schema, value) => {
    const text = JSON.stringify(schema) ?? ''
    const same = byText.get(text) ?? schema
    if (byText.size >= MAX_SCHEMAS) byText.clear()
    byText.set(text, same)
    return check(same, value)
  }
}
