/** OpenCALL's envelopes as JSON Schema, for every document that describes messages. Names are those of `wire.ts`. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'

/** Makes the `$ref` of a schema from its name. */
export type Refer = (name: string) => JsonObject

const TEXT: JsonSchema = { type: 'string' }
const COUNT: JsonSchema = { type: 'integer', minimum: 0 }
const EPOCH: JsonSchema = { type: 'integer', description: 'Seconds since 1970.' }
const REQUEST_ID: JsonSchema = { type: 'string', description: 'Identifies the call.' }

/** Fields of every response. */
const COMMON = { requestId: REQUEST_ID, sessionId: TEXT }

export function object(properties: JsonObject, required: readonly string[], description?: string): JsonSchema {
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties,
    ...(required.length > 0 && { required: [...required] }),
  }
}

/** One of several objects, which the value of one property distinguishes. */
export function oneOf(property: string, mapping: Readonly<Record<string, string>>, refer: Refer): JsonSchema {
  const names = [...new Set(Object.values(mapping))]
  const [first] = names
  if (first !== undefined && names.length === 1) return refer(first)
  const places = Object.entries(mapping).map(([value, name]) => [value, refer(name).$ref as string])
  return {
    oneOf: names.map(refer),
    discriminator: { propertyName: property, mapping: Object.fromEntries(places) },
  }
}

/** The response of a call that ended with a result. */
export function completeSchema(result: JsonSchema, refer: Refer): JsonSchema {
  return object(
    { ...COMMON, state: { type: 'string', const: 'complete' }, result, expiresAt: EPOCH, meta: refer('Meta') },
    ['requestId', 'state', 'result'],
  )
}

/** The schemas that every document has, by name. */
export function sharedSchemas(refer: Refer): Record<string, JsonSchema> {
  return {
    RequestContext: object(
      {
        requestId: { type: 'string', maxLength: 128, description: 'Default: the server makes one.' },
        sessionId: TEXT,
        parentId: TEXT,
        idempotencyKey: { type: 'string', description: 'A repeat with the same key does not run the operation again.' },
        timeoutMs: { type: 'number', minimum: 0, description: 'How long the caller waits for a direct result.' },
        locale: TEXT,
        traceparent: TEXT,
      },
      [],
    ),
    MediaEntry: object(
      {
        name: { type: 'string', description: 'The attachment of the operation.' },
        mimeType: TEXT,
        ref: { type: 'string', format: 'uri', description: 'Where the server fetches the bytes.' },
        part: { type: 'string', description: 'The part of the request that has the bytes.' },
      },
      ['name', 'mimeType'],
      'An attachment. It has either "ref" or "part".',
    ),
    Meta: object({ op: TEXT, durationMs: { type: 'number' } }, ['op', 'durationMs']),
    ErrorBody: object({ code: TEXT, message: TEXT, cause: { type: 'object' } }, ['code', 'message']),
    Complete: completeSchema({}, refer),
    Failed: object(
      {
        ...COMMON,
        state: { type: 'string', const: 'error' },
        error: refer('ErrorBody'),
        retryAfterMs: COUNT,
        meta: refer('Meta'),
      },
      ['requestId', 'state', 'error'],
      'The call failed or was refused.',
    ),
    Location: object(
      {
        uri: TEXT,
        mimeType: TEXT,
        value: {},
        auth: object({ credentialType: TEXT, credential: TEXT, expiresAt: EPOCH }, ['credentialType', 'credential']),
      },
      ['uri'],
    ),
    Waiting: object(
      {
        ...COMMON,
        state: { type: 'string', enum: ['accepted', 'pending'] },
        location: refer('Location'),
        retryAfterMs: COUNT,
        expiresAt: EPOCH,
        progress: object({ fraction: { type: 'number' }, message: TEXT, attempt: COUNT }, ['fraction']),
        meta: refer('Meta'),
      },
      ['requestId', 'state'],
      'The call runs. Its location is where to poll.',
    ),
    Located: object(
      {
        ...COMMON,
        state: { type: 'string', const: 'complete' },
        location: refer('Location'),
        expiresAt: EPOCH,
        meta: refer('Meta'),
      },
      ['requestId', 'state', 'location'],
      'The call has ended. Its result is at the location: an object, or chunks.',
    ),
    Stream: object(
      {
        transport: TEXT,
        encoding: TEXT,
        schema: { type: 'string', description: 'The name of the schema of a frame.' },
        location: TEXT,
        sessionId: TEXT,
        expiresAt: EPOCH,
        auth: object({ credentialType: TEXT, credential: TEXT, expiresAt: EPOCH }, ['credentialType', 'credential']),
      },
      ['transport', 'encoding', 'schema', 'location', 'sessionId', 'expiresAt'],
    ),
    Streaming: object(
      {
        ...COMMON,
        state: { type: 'string', const: 'streaming' },
        stream: refer('Stream'),
        expiresAt: EPOCH,
        meta: refer('Meta'),
      },
      ['requestId', 'state', 'stream'],
      'The frames can be read where "stream" says.',
    ),
    StreamEnd: object(
      { requestId: REQUEST_ID, state: { type: 'string', enum: ['complete', 'error'] }, error: refer('ErrorBody') },
      ['state'],
      'The last message of a stream.',
    ),
    Response: {
      oneOf: ['Complete', 'Located', 'Waiting', 'Streaming', 'Failed'].map(refer),
    },
  }
}

/** The envelope of one operation. `op` is left out where the address of the request names the operation. */
export function requestSchema(
  { op, args, argsRequired, media }: { op?: string; args: JsonSchema; argsRequired: boolean; media: boolean },
  refer: Refer,
): JsonSchema {
  return object(
    {
      ...(op !== undefined && { op: { type: 'string', const: op } }),
      args,
      ctx: refer('RequestContext'),
      ...(media && { media: { type: 'array', items: refer('MediaEntry') } }),
    },
    [...(op === undefined ? [] : ['op']), ...(argsRequired ? ['args'] : [])],
  )
}
