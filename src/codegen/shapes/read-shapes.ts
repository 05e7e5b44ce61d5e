/** Reads the types of all operations out of their JSON Schemas. */
import type { Catalogue, CatalogueOperation, JsonSchema } from '../catalogue.ts'
import { FreeNames } from '../free-names.ts'
import { flatten } from '../schemas/flatten.ts'
import { SchemaReader } from './schema-reader.ts'
import type { Declaration, Shape, ShapedOperation, Shapes } from './shape.ts'
import { pascalName } from './words.ts'

/** `taken` are type names that the language or the rest of the file uses. */
export function readShapes({ operations }: Catalogue, taken: Iterable<string>): Shapes {
  const names = new FreeNames(taken)
  const declarations: Declaration[] = []
  const read = (schema: JsonSchema, typeName: string): Shape => readSide(schema, typeName, names, declarations)
  const shaped = operations.map((operation): ShapedOperation => {
    const typeName = typeNameOf(operation)
    const { args, result, stream } = operation
    return {
      operation,
      typeName,
      args: read({ type: 'object', ...args }, `${typeName}Args`),
      result: read(result, `${typeName}Result`),
      ...(stream && { frame: read(stream.frame, `${typeName}Frame`) }),
    }
  })
  return { declarations, operations: shaped }
}

/** The first major has no number in its names, as in `client.orders.getItem`. */
function typeNameOf({ major, lineage }: CatalogueOperation): string {
  return pascalName(lineage) + (major === 1 ? '' : `V${major}`)
}

function readSide(schema: JsonSchema, typeName: string, names: FreeNames, declarations: Declaration[]): Shape {
  const { root, definitions } = flatten(schema, (name) => name)
  const reader = new SchemaReader(definitions, typeName, names, declarations)
  return definitions.has('') ? reader.definition('') : reader.read(root, typeName)
}
