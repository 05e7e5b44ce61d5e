/**
 * Operations, as a developer defined them and as the engine runs them: checked, with validators and a backend.
 * `define.ts` makes the first; `src/schemas` and the backends turn it into the second.
 */
import type { HandlerContext } from '../call/context.ts'
import type { JsonObject } from '../json.ts'
import type { Backend } from '../ports/backend.ts'
import type { AuthBinding, AuthDeclaration } from './credential.ts'
import type { OperationName } from './names.ts'
import type { Requirements } from './requirements.ts'
import type { OperationRules } from './rules.ts'
import type { PlainSchema, Schema } from './schema.ts'
import type { StreamOptions, StreamRules } from './stream.ts'

/** The types that an operation keeps for its callers. */
export interface OperationTypes {
  /** Its name as a literal type, for the typed client. */
  name?: string
  /** The arguments that a caller sends. */
  args: unknown
  /** The result that a caller receives. */
  result: unknown
  /** A frame that a reader of the stream receives. */
  frame?: unknown
  /** The names of its media. */
  media?: string
  /** The codes of the failures that it declares. */
  errors?: string
}

declare const types: unique symbol

/** The types that a definition keeps. `unknown` for a value that is no definition. With `infer`, it takes twice as long. */
export type TypesIn<Definition> = Definition extends { readonly [types]?: unknown }
  ? NonNullable<Definition[typeof types]>
  : unknown

/**
 * One operation as its developer wrote it. `App` is the type of the values that the application injects into its
 * handler. `Types` is only for the compiler. It has plain types instead of schemas, so that the type of an exported
 * operation is short to print and cheap to check.
 */
export interface OperationDefinition<App = unknown, Types extends OperationTypes = OperationTypes> {
  readonly [types]?: Types
  readonly name: string
  readonly rules: OperationRules
  readonly args?: Schema
  readonly result?: Schema
  /** The schema of each frame. Makes the operation a stream. */
  readonly frame?: Schema
  readonly stream?: StreamOptions
  /** Published instead of the library's export. Required for libraries that cannot export JSON Schema. */
  readonly jsonSchema?: PublishedSchemas
  /** Absent if a backend runs it. */
  run?(args: unknown, ctx: HandlerContext & App): unknown
  /** Runs it outside this process. */
  readonly backend?: BackendSpec
  readonly auth?: AuthDeclaration
  /** Base folder of paths in the backend's settings (default: the working folder). */
  readonly folder?: string
}

/** JSON Schema that the developer gives beside a library's schema. */
export interface PublishedSchemas {
  args?: PlainSchema
  result?: PlainSchema
  frame?: PlainSchema
}

/** A declared backend: its kind and the settings of that kind. */
export interface BackendSpec {
  readonly kind: string
  readonly [setting: string]: unknown
}

/** Keeps the name of a removed operation, so that its callers get the replacement. */
export interface Tombstone {
  readonly name: string
  readonly removed: { on: string; replacement?: string }
}

/** Checks and parses unknown JSON, or throws a fault of kind `invalid-input` that names every problem. */
export type Parse = (value: unknown) => unknown | Promise<unknown>

/** An operation ready to run: defaults filled in, schemas as functions and as JSON Schema. */
export interface Operation
  extends Required<
    Omit<
      OperationRules,
      | 'deprecated'
      | 'requires'
      | 'chunked'
      | 'timeoutMs'
      | 'deadlineMs'
      | 'concurrency'
      | 'title'
      | 'internal'
      | 'slotless'
    >
  > {
  /** Registry key: `v1:orders.getItem@1.0.0`. */
  readonly key: string
  readonly name: OperationName
  readonly title?: string
  readonly internal?: boolean
  readonly slotless?: boolean
  readonly timeoutMs?: number
  readonly deadlineMs?: number
  readonly concurrency?: number
  /** If `mimeType` is absent, each call sets its own. */
  readonly chunked?: { mimeType?: string }
  readonly deprecated?: { sunset?: string; replacement?: string }
  readonly requires?: Requirements
  /** Present if the model is `stream`. */
  readonly stream?: StreamRules
  readonly parseArgs: Parse
  readonly parseResult: Parse
  /** Published schemas: the input side of the arguments, the output side of the result. */
  readonly schemas: { readonly args: JsonObject; readonly result: JsonObject }
  readonly backend: Backend
  /** The credential that is sent to a remote tool. */
  readonly auth?: AuthBinding
}

/** The validators and JSON Schemas that are made from a schema library: see `src/schemas`. */
export interface PreparedSchemas {
  parseArgs: Parse
  parseResult: Parse
  schemas: { readonly args: JsonObject; readonly result: JsonObject }
  /** Present if the operation declares a frame. */
  frame?: { parse: Parse; readonly schema: JsonObject }
}
