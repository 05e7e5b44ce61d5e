/** The paths that every OpenCALL server has: the envelope, and everything about a call that was made. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import { object } from '../documents/envelopes.ts'
import {
  ACCEPTED,
  CALL_REFUSALS,
  endedSchema,
  FOLLOW_REFUSALS,
  json,
  REDIRECTED,
  refer,
  refusals,
} from './responses.ts'

export const CALLS_TAG = 'calls'
/** The ids of the functions below. Operations get other ones. */
export const FIXED_IDS = [
  'call',
  'getCall',
  'cancelCall',
  'getChunk',
  'watchCall',
  'readStream',
  'getObject',
  'getRegistry',
]

const text = { type: 'string' }
const REQUEST_ID = { $ref: '#/components/parameters/RequestId' }
const PREFER = { $ref: '#/components/parameters/Prefer' }

export const PARAMETERS: Record<string, JsonObject> = {
  RequestId: {
    name: 'requestId',
    in: 'path',
    required: true,
    schema: text,
    description: 'Of the response to the call.',
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    schema: text,
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

/** Extra schemas of these paths, by name. */
export const FIXED_SCHEMAS: Record<string, JsonSchema> = {
  Chunk: object(
    {
      requestId: text,
      sessionId: text,
      state: { type: 'string', enum: ['pending', 'complete'] },
      mimeType: text,
      cursor: { type: ['string', 'null'], description: 'Of the next chunk. Null after the last one.' },
      chunk: object(
        {
          offset: { type: 'integer' },
          length: { type: 'integer' },
          checksum: text,
          checksumPrevious: { type: ['string', 'null'] },
        },
        ['offset', 'length', 'checksum', 'checksumPrevious'],
      ),
      total: { type: 'integer' },
      encoding: { type: 'string', enum: ['utf8', 'base64'] },
      data: text,
      retryAfterMs: { type: 'integer' },
    },
    ['requestId', 'state', 'cursor'],
    'A piece of a large result.',
  ),
  Registry: object({ callVersion: text, operations: { type: 'array', items: { type: 'object' } } }, [
    'callVersion',
    'operations',
  ]),
}

/** `frames` are the names of the schemas of frames. */
export function fixedPaths(call: JsonSchema, frames: readonly string[]): JsonObject {
  const ended = { 200: json('The call has ended.', endedSchema('Complete')), 202: ACCEPTED, 303: REDIRECTED }
  const about = (operationId: string, summary: string) => ({ operationId, tags: [CALLS_TAG], summary })
  return {
    '/call': {
      post: {
        ...about('call', 'Calls an operation'),
        parameters: [PREFER],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: call },
            'multipart/form-data': {
              schema: object({ envelope: call }, ['envelope'], 'The envelope, and a part for each attachment.'),
              encoding: { envelope: { contentType: 'application/json' } },
            },
          },
        },
        responses: { ...ended, ...refusals(CALL_REFUSALS) },
      },
    },
    '/ops/{requestId}': {
      parameters: [REQUEST_ID],
      get: {
        ...about('getCall', 'Returns the state of a call, or its result'),
        parameters: [PREFER],
        responses: { ...ended, ...refusals(FOLLOW_REFUSALS) },
      },
      delete: {
        ...about('cancelCall', 'Cancels a call'),
        responses: { ...ended, ...refusals(FOLLOW_REFUSALS) },
      },
    },
    '/ops/{requestId}/chunks': {
      parameters: [REQUEST_ID],
      get: {
        ...about('getChunk', 'Returns a chunk of a result'),
        parameters: [
          {
            name: 'cursor',
            in: 'query',
            required: false,
            schema: text,
            description: 'Of the last chunk. Default: the first chunk.',
          },
        ],
        responses: {
          200: {
            description: 'A chunk, or none yet.',
            content: {
              'application/json': { schema: refer('Chunk') },
              'application/octet-stream': { schema: bytes() },
            },
          },
          ...refusals(FOLLOW_REFUSALS),
        },
      },
    },
    '/ops/{requestId}/events': {
      parameters: [REQUEST_ID],
      get: {
        ...about('watchCall', 'Sends every change of a call, as server-sent events'),
        responses: { 200: events('Each event is a response.', refer('Response')), ...refusals(FOLLOW_REFUSALS) },
      },
    },
    ...(frames.length > 0 && { '/streams/{streamId}': streamPath(frames) }),
    '/objects/{objectId}': {
      get: {
        ...about('getObject', 'Returns the bytes of a result'),
        parameters: [
          { name: 'objectId', in: 'path', required: true, schema: text },
          { name: 'Range', in: 'header', required: false, schema: text },
        ],
        responses: {
          200: { description: 'The whole object.', content: { 'application/octet-stream': { schema: bytes() } } },
          206: { description: 'A part of the object.', content: { 'application/octet-stream': { schema: bytes() } } },
          304: { description: 'The object has not changed.' },
          ...refusals([...FOLLOW_REFUSALS, 416]),
        },
      },
    },
    '/.well-known/ops': {
      get: {
        ...about('getRegistry', 'Lists the operations'),
        security: [{}],
        responses: {
          200: json('The operations that the caller may see.', refer('Registry')),
          304: { description: 'The registry has not changed.' },
          ...refusals([400]),
        },
      },
    },
  }
}

function streamPath(frames: readonly string[]): JsonObject {
  return {
    get: {
      operationId: 'readStream',
      tags: [CALLS_TAG],
      summary: 'Sends the frames of a stream, as server-sent events',
      security: [{ ticket: [] }, { bearer: [] }, { apiKey: [] }],
      parameters: [
        { name: 'streamId', in: 'path', required: true, schema: text },
        {
          name: 'ticket',
          in: 'query',
          required: false,
          schema: text,
          description: 'The credential of the stream, for readers that can send no header.',
        },
      ],
      responses: {
        200: events('Each event is a frame. The last one is the end.', {
          anyOf: [...frames, 'StreamEnd'].map(refer),
        }),
        ...refusals(FOLLOW_REFUSALS),
      },
    },
  }
}

function bytes(): JsonSchema {
  return { type: 'string', format: 'binary' }
}

function events(description: string, schema: JsonSchema): JsonObject {
  return { description, content: { 'text/event-stream': { schema } } }
}
