/**
 * The JSON Schema that callers see for one side of an operation. At start it is only checked that the library can
 * export. The export itself waits for the first use, because 10,000 exports take half a second.
 */
import { createRequire } from 'node:module'
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { PlainSchema, StandardSchema } from '../core/operation/schema.ts'

export type Side = 'args' | 'result' | 'frame'

/** Callers send the input of the arguments' schema and receive the output of the schemas of results and frames. */
const DIRECTION = { args: 'input', result: 'output', frame: 'output' } as const
type Direction = (typeof DIRECTION)[Side]
type Export = (schema: StandardSchema, direction: Direction) => JsonObject

const TARGET = 'draft-2020-12'
const require = createRequire(import.meta.url)

/** Libraries that export JSON Schema by a separate function, by vendor. */
const EXPORTERS: Record<string, { package: string; load(lenient: boolean): Export | undefined }> = {
  // zod/mini. Schemas of zod itself export themselves since 4.2.
  zod: {
    package: 'zod 4',
    load(lenient) {
      const { toJSONSchema } = require('zod') as Partial<typeof import('zod')>
      const unrepresentable = lenient ? 'any' : 'throw'
      return (
        toJSONSchema &&
        ((schema, io) => toJSONSchema(schema as never, { io, target: TARGET, unrepresentable }) as JsonObject)
      )
    },
  },
  valibot: {
    package: '@valibot/to-json-schema',
    load(lenient) {
      const { toJsonSchema } = require('@valibot/to-json-schema') as {
        toJsonSchema(schema: unknown, config: object): JsonObject
      }
      return (schema, typeMode) =>
        toJsonSchema(schema, {
          typeMode,
          target: TARGET,
          ...(lenient && { errorMode: 'ignore' }),
          // A check written as a function has no equivalent in JSON Schema. It still runs, but callers cannot see it.
          overrideAction: ({ valibotAction, jsonSchema, errors }: ValibotAction) =>
            errors && (typeMode === 'input' || keepsType(valibotAction)) ? jsonSchema : undefined,
        })
    },
  },
}

interface ValibotAction {
  valibotAction: { kind: string; type: string }
  jsonSchema: JsonObject
  errors?: readonly string[]
}

function keepsType({ kind, type }: ValibotAction['valibotAction']): boolean {
  return kind === 'validation' || /^(?:trim|trim_start|trim_end|normalize|to_lower_case|to_upper_case)$/.test(type)
}

/** Published unchanged, including `$schema`, because the author of the schema declared it. */
export function publishPlain(schema: PlainSchema): JsonObject {
  return { ...schema } as JsonObject
}

/** Removes the dialect that libraries add. It is the default dialect anyway. */
function withoutDialect({ $schema: _dialect, ...published }: JsonObject): JsonObject {
  return published
}

/**
 * Throws at once if the library has no export; the returned function exports. `lenient` leaves out checks that JSON
 * Schema cannot express.
 */
export function standardPublisher(
  operation: string,
  side: Side,
  schema: StandardSchema,
  lenient = false,
): () => JsonObject {
  // A handler that returns nothing has the result null, and neither zod nor valibot exports JSON Schema for that.
  if (side === 'result' && isVoid(schema)) return () => ({ type: 'null' })
  const exportSchema = exporterOf(operation, side, schema, lenient)
  return () => {
    try {
      return withoutDialect(exportSchema(schema, DIRECTION[side]))
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      throw needsJsonSchema(operation, side, `cannot be exported as JSON Schema (${reason})`, '', thrown)
    }
  }
}

function exporterOf(operation: string, side: Side, schema: StandardSchema, lenient: boolean): Export {
  const { vendor } = schema['~standard']
  if (converterOf(schema) && !lenient) {
    return (held, direction) => converterOf(held)?.[direction]({ target: TARGET }) as JsonObject
  }
  const exporter = Object.hasOwn(EXPORTERS, vendor) ? EXPORTERS[vendor] : undefined
  if (!exporter) throw needsJsonSchema(operation, side, `comes from "${vendor}", which does not export JSON Schema`)
  const remedy = ` or install ${exporter.package}`
  const lacking = `comes from "${vendor}", which exports JSON Schema only with ${exporter.package}`
  try {
    const loaded = exporter.load(lenient)
    if (loaded) return loaded
  } catch (thrown) {
    throw needsJsonSchema(operation, side, lacking, remedy, thrown)
  }
  throw needsJsonSchema(operation, side, lacking, remedy)
}

/** The JSON Schema part of Standard Schema. */
function converterOf(schema: StandardSchema) {
  const standard = schema['~standard'] as {
    jsonSchema?: Record<Direction, (options: { target: string }) => Record<string, unknown>>
  }
  return standard.jsonSchema
}

function isVoid(schema: StandardSchema): boolean {
  const { type } = schema as { type?: unknown }
  return type === 'void' || type === 'undefined'
}

function needsJsonSchema(operation: string, side: Side, why: string, remedy = '', cause?: unknown): Fault {
  return new Fault(
    'malformed',
    `The ${side} schema of ${operation} ${why}. Add it to the operation as jsonSchema: { ${side}: { … } }${remedy}.`,
    { code: 'JSON_SCHEMA_REQUIRED', details: { operation, side }, ...(cause !== undefined && { cause }) },
  )
}
