/** Names for the schemas of each operation in a document, and those schemas with references to each other. */
import type { JsonObject } from '../../core/json.ts'
import type { CatalogueOperation, JsonSchema } from '../catalogue.ts'
import { FreeNames } from '../free-names.ts'
import { flatten } from '../schemas/flatten.ts'
import { pascalCase } from '../words.ts'
import { completeSchema, type Refer, requestSchema } from './envelopes.ts'
import { withSafeTexts } from './safe-text.ts'

/** The names of an operation's schemas. */
export interface SchemaNames {
  /** `OrdersGetItemV1`, which no other operation has. */
  readonly operation: string
  readonly args: string
  readonly result: string
  readonly frame?: string
  /** The envelope without `op`, for an address that names the operation. */
  readonly request: string
  /** The envelope for `/call` and for messages. */
  readonly call: string
  readonly complete: string
}

export class OperationSchemas {
  readonly #refer: Refer
  readonly #names: FreeNames
  readonly #operations = new FreeNames()
  /** All schemas, by name. */
  readonly schemas: Record<string, JsonSchema>

  constructor(shared: Record<string, JsonSchema>, refer: Refer) {
    this.#refer = refer
    this.#names = new FreeNames(Object.keys(shared))
    this.schemas = { ...shared }
  }

  add(operation: CatalogueOperation): SchemaNames {
    const name = this.#operations.take(`${pascalCase(operation.lineage)}V${operation.major}`)
    const { args, result, stream, media } = operation
    const argsName = this.#addFlat(`${name}Args`, args)
    const envelope = {
      args: this.#refer(argsName),
      argsRequired: Array.isArray(args.required) && args.required.length > 0,
      media: media.length > 0,
    }
    const resultName = this.#addFlat(`${name}Result`, result)
    return {
      operation: name,
      args: argsName,
      result: resultName,
      ...(stream && { frame: this.#addFlat(`${name}Frame`, stream.frame) }),
      request: this.#add(`${name}Request`, requestSchema(envelope, this.#refer)),
      call: this.#add(`${name}Call`, requestSchema({ op: operation.name, ...envelope }, this.#refer)),
      complete: this.#add(`${name}Complete`, completeSchema(this.#refer(resultName), this.#refer)),
    }
  }

  /** Adds a schema and everything that it refers to. Returns its name. */
  #addFlat(wish: string, schema: JsonSchema): string {
    const taken = new Map([['', this.#names.take(wish)]])
    const nameOf = (definition: string): string => {
      const known = taken.get(definition) ?? this.#names.take(wish + (pascalCase(definition) || 'Definition'))
      taken.set(definition, known)
      return known
    }
    const { root, definitions } = flatten(schema, (name) => (this.#refer(nameOf(name)) as { $ref: string }).$ref)
    const all = [...definitions, ['', root] as const]
    for (const [definition, held] of all) this.schemas[nameOf(definition)] = withSafeTexts(held) as JsonSchema
    return nameOf('')
  }

  #add(wish: string, schema: JsonObject): string {
    const name = this.#names.take(wish)
    this.schemas[name] = schema
    return name
  }
}
