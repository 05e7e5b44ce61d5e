/** JSON as a file: indented, with a line break at its end. */
import type { JsonObject } from '../../core/json.ts'

export function jsonText(document: JsonObject): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
