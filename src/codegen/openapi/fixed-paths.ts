/** The paths that every OpenCALL server has: the envelope, everything about a call that was made, and discovery. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import { object } from '../documents/envelopes.ts'
import { TEXT } from './fixed-schemas.ts'
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
export const FIXED_IDS = 'call getCall cancelCall getChunk watchCall readStream getObject getRegistry getErrors'.split(
  ' ',
)

const REQUEST_ID = { $ref: '#/components/parameters/RequestId' }
const PREFER = { $ref: '#/components/parameters/Prefer' }
const ENDED = { 200: json('The call has ended.', endedSchema('Complete')), 202: ACCEPTED, 303: REDIRECTED }
const BYTES: JsonSchema = { type: 'string', format: 'binary' }

/** `call` is the envelope of any operation. `frames` are the names of the schemas of frames. */
export function fixedPaths(call: JsonSchema, frames: readonly string[]): JsonObject {
  return {
    '/call': { post: callOperation(call) },
    '/ops/{requestId}': {
      parameters: [REQUEST_ID],
      get: {
        ...about('getCall', 'Returns the state of a call, or its result'),
        parameters: [PREFER],
        responses: { ...ENDED, ...refusals(FOLLOW_REFUSALS) },
      },
      delete: { ...about('cancelCall', 'Cancels a call'), responses: { ...ENDED, ...refusals(FOLLOW_REFUSALS) } },
    },
    '/ops/{requestId}/chunks': { parameters: [REQUEST_ID], get: chunkOperation() },
    '/ops/{requestId}/events': {
      parameters: [REQUEST_ID],
      get: {
        ...about('watchCall', 'Sends every change of a call, as server-sent events'),
        responses: { 200: events('Each event is a response.', refer('Response')), ...refusals(FOLLOW_REFUSALS) },
      },
    },
    ...(frames.length > 0 && { '/streams/{streamId}': { get: streamOperation(frames) } }),
    '/objects/{objectId}': { get: objectOperation() },
    '/.well-known/ops': { get: discovery('getRegistry', 'Lists the operations', 'Registry') },
    '/.well-known/errors': { get: discovery('getErrors', 'Lists the codes of failures', 'Errors') },
  }
}

function about(operationId: string, summary: string): JsonObject {
  return { operationId, tags: [CALLS_TAG], summary }
}

function callOperation(call: JsonSchema): JsonObject {
  return {
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
    responses: { ...ENDED, ...refusals(CALL_REFUSALS) },
  }
}

function chunkOperation(): JsonObject {
  const cursor = 'Of the last chunk. Default: the first chunk.'
  return {
    ...about('getChunk', 'Returns a chunk of a result'),
    parameters: [{ name: 'cursor', in: 'query', required: false, schema: TEXT, description: cursor }],
    responses: {
      200: {
        description: 'A chunk, or none yet.',
        content: { 'application/json': { schema: refer('Chunk') }, 'application/octet-stream': { schema: BYTES } },
      },
      ...refusals(FOLLOW_REFUSALS),
    },
  }
}

function streamOperation(frames: readonly string[]): JsonObject {
  const ticket = 'The credential of the stream, for readers that can send no header.'
  return {
    ...about('readStream', 'Sends the frames of a stream, as server-sent events'),
    security: [{ ticket: [] }, { bearer: [] }, { apiKey: [] }],
    parameters: [
      { name: 'streamId', in: 'path', required: true, schema: TEXT },
      { name: 'ticket', in: 'query', required: false, schema: TEXT, description: ticket },
    ],
    responses: {
      200: events('Each event is a frame. The last one is the end.', { anyOf: [...frames, 'StreamEnd'].map(refer) }),
      ...refusals(FOLLOW_REFUSALS),
    },
  }
}

function objectOperation(): JsonObject {
  const content = { 'application/octet-stream': { schema: BYTES } }
  return {
    ...about('getObject', 'Returns the bytes of a result'),
    parameters: [
      { name: 'objectId', in: 'path', required: true, schema: TEXT },
      { name: 'Range', in: 'header', required: false, schema: TEXT },
    ],
    responses: {
      200: { description: 'The whole object, with its own media type.', content },
      206: { description: 'A part of the object.', content },
      304: { description: 'The object has not changed.' },
      ...refusals([...FOLLOW_REFUSALS, 416]),
    },
  }
}

function discovery(operationId: string, summary: string, schema: string): JsonObject {
  return {
    ...about(operationId, summary),
    security: [{}],
    responses: {
      200: json('What the caller may see.', refer(schema)),
      304: { description: 'The document has not changed.' },
      ...refusals([400]),
    },
  }
}

function events(description: string, schema: JsonSchema): JsonObject {
  return { description, content: { 'text/event-stream': { schema } } }
}
