/** All schemas of a server in one JSON Schema document: `#/$defs/v1:orders.getItem/$defs/args`. */
import type { JsonObject } from '../../core/json.ts'
import { encodePointer } from '../../core/json-pointer.ts'
import type { Catalogue, CatalogueOperation, JsonSchema } from '../catalogue.ts'
import { flatten } from '../schemas/flatten.ts'
import type { GeneratedFile } from '../target.ts'
import { jsonText } from './json-text.ts'

export function generateJsonSchema({ title, operations }: Catalogue): GeneratedFile {
  const document = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    $defs: Object.fromEntries(operations.map((operation) => [operation.name, schemasOf(operation)])),
  }
  return { path: 'operations.schema.json', text: jsonText(document) }
}

function schemasOf({ name, title, description, args, result, stream, deprecated }: CatalogueOperation): JsonObject {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(deprecated && { deprecated: true }),
    $defs: {
      ...definitionsOf(name, 'args', args),
      ...definitionsOf(name, 'result', result),
      ...(stream && definitionsOf(name, 'frame', stream.frame)),
    },
  }
}

/** The schema of one side, and what it refers to: `args`, `args.Node`. */
function definitionsOf(operation: string, side: string, schema: JsonSchema): JsonObject {
  const keyOf = (name: string) => (name === '' ? side : `${side}.${name}`)
  const { root, definitions } = flatten(schema, (name) => referenceTo(['$defs', operation, '$defs', keyOf(name)]))
  return Object.fromEntries([[side, root], ...[...definitions].map(([name, definition]) => [keyOf(name), definition])])
}

/** A JSON Pointer as the fragment of a URI. A colon needs no encoding there. */
function referenceTo(path: readonly string[]): string {
  return `#${encodePointer(path).split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':').replaceAll('%24', '$')}`
}
