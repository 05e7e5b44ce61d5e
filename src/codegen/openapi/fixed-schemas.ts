/** The schemas and parameters of the paths that every OpenCALL server has. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import { object } from '../documents/envelopes.ts'
import { refer } from './responses.ts'

export const TEXT = { type: 'string' }

export const PARAMETERS: Record<string, JsonObject> = {
  RequestId: {
    name: 'requestId',
    in: 'path',
    required: true,
    schema: TEXT,
    description: 'Of the response to the call.',
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    schema: TEXT,
    description: 'wait=10 waits up to 10 seconds for the call to end.',
  },
  RequiredKey: key(true),
  OptionalKey: key(false),
}

function key(required: boolean): JsonObject {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required,
    schema: { type: 'string', minLength: 1, maxLength: 256 },
    description: 'A repeat with the same key does not run the operation again.',
  }
}

export const FIXED_SCHEMAS: Record<string, JsonSchema> = {
  Chunk: object(
    {
      requestId: TEXT,
      sessionId: TEXT,
      state: { type: 'string', enum: ['pending', 'complete'] },
      mimeType: TEXT,
      cursor: { type: ['string', 'null'], description: 'Of the next chunk. Null after the last one.' },
      chunk: object(
        {
          offset: { type: 'integer' },
          length: { type: 'integer' },
          checksum: TEXT,
          checksumPrevious: { type: ['string', 'null'] },
        },
        ['offset', 'length', 'checksum', 'checksumPrevious'],
      ),
      total: { type: 'integer' },
      encoding: { type: 'string', enum: ['utf8', 'base64'] },
      data: TEXT,
      retryAfterMs: { type: 'integer' },
    },
    ['requestId', 'state', 'cursor'],
    'A piece of a large result.',
  ),
  Registry: object({ callVersion: TEXT, operations: { type: 'array', items: { type: 'object' } } }, [
    'callVersion',
    'operations',
  ]),
  Errors: object(
    {
      callVersion: TEXT,
      service: { type: 'array', items: refer('ErrorEntry') },
      operations: { type: 'object', additionalProperties: { type: 'array', items: refer('ErrorEntry') } },
    },
    ['callVersion', 'service', 'operations'],
  ),
  ErrorEntry: object(
    {
      code: TEXT,
      httpStatus: { type: 'integer' },
      state: { type: 'string', const: 'error' },
      message: TEXT,
      remedy: TEXT,
      retryable: { type: 'boolean' },
    },
    ['code', 'httpStatus', 'message', 'retryable'],
  ),
}
