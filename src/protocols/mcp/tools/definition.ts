/** An operation as a tool: its schemas as each generation takes them, and what is known of its effects. */
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation.ts'
import type { Generation, ToolAnnotations, ToolDefinition } from '../wire.ts'
import { withAttachments } from './attachments.ts'

export function encodeTool(name: string, operation: Operation, generation: Generation): ToolDefinition {
  const { title, description, schemas } = operation
  const outputSchema = operation.chunked ? undefined : outputSchemaOf(schemas.result, generation)
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== '' && { description }),
    inputSchema: withAttachments(operation, { ...schemas.args, type: 'object' }),
    ...(outputSchema && { outputSchema }),
    annotations: annotationsOf(operation),
  }
}

/**
 * Only what is known is said. Whoever hears nothing assumes the worst, which is right for an effect of unknown reach;
 * and a key makes a repeat harmless, not the tool: the same arguments under another key act again.
 */
function annotationsOf({ sideEffecting, risk, capabilities }: Operation): ToolAnnotations {
  const destructive = sideEffecting && (risk === 'high' || risk === 'critical')
  return {
    readOnlyHint: !sideEffecting,
    ...(!sideEffecting && { idempotentHint: true }),
    ...(destructive && { destructiveHint: true }),
    ...(capabilities.some((capability) => capability.startsWith('network.')) && { openWorldHint: true }),
  }
}

/** Nothing where anything may come back. Older revisions take objects only: the rest is wrapped, as its values are. */
function outputSchemaOf(schema: JsonObject, generation: Generation): JsonObject | undefined {
  if (Object.keys(schema).length === 0) return undefined
  if (generation === 'stateless' || schema.type === 'object') return schema
  const { $schema, $defs, ...rest } = schema
  // A reference to the whole schema would now mean the wrapper.
  if (refersToRoot(rest) || refersToRoot($defs)) return undefined
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result: rest },
    required: ['result'],
    ...($defs !== undefined && { $defs }),
  }
}

function refersToRoot(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(refersToRoot)
  if (!isJsonObject(schema)) return false
  const { $ref } = schema
  if (typeof $ref === 'string' && $ref.startsWith('#') && !$ref.startsWith('#/$defs/')) return true
  return Object.values(schema).some(refersToRoot)
}
