/** Texts of a registry in documents that viewers show as Markdown, which may contain HTML. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { mapSubschemas } from '../schemas/subschemas.ts'

/** Shows tags as text, so that they do nothing. */
export function safeText(text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;')
}

/** The same for the descriptions in a schema. */
export function withSafeTexts(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return schema
  const safe: JsonObject = mapSubschemas(schema, withSafeTexts)
  for (const keyword of ['title', 'description']) {
    const text = safe[keyword]
    if (typeof text === 'string') safe[keyword] = safeText(text)
  }
  return safe
}
