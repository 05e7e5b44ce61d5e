/** Encodes an operation as a tool: schemas for each generation, and hints about its effects. */
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Generation, ToolAnnotations, ToolDefinition } from '../wire.ts'
import { withAttachments } from './attachments.ts'

/** The result of a task that was a stream. */
const STREAM_RESULT: JsonObject = {
  type: 'object',
  properties: {
    frames: { type: 'integer', description: 'How many frames the stream had.' },
    dropped: { type: 'integer', description: 'How many frames were dropped because they came too fast.' },
    ended: { enum: ['done', 'unsubscribed', 'expired'] },
    last: { type: 'array', description: 'The last frames, oldest first.' },
  },
  required: ['frames', 'dropped', 'ended', 'last'],
}

export function encodeTool(name: string, operation: Operation, generation: Generation): ToolDefinition {
  const { title, description, schemas } = operation
  const result = operation.stream ? STREAM_RESULT : schemas.result
  const outputSchema = operation.chunked ? undefined : outputSchemaOf(result, generation)
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
 * Sets only known hints. Without a hint, a client assumes the worst, which is right for unknown effects. A tool with an
 * idempotency key is not idempotent: the same arguments with another key run again.
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

/**
 * Returns `undefined` if the result may be any value. Older revisions accept only objects, so other schemas are
 * wrapped.
 */
function outputSchemaOf(schema: JsonObject, generation: Generation): JsonObject | undefined {
  if (Object.keys(schema).length === 0) return undefined
  if (generation === 'stateless' || schema.type === 'object') return schema
  const { $schema, $defs, ...rest } = schema
  // A reference to the root would point to the wrapper.
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
