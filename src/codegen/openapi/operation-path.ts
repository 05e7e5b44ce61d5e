/** The path of one operation: `POST /ops/orders.getItem/v1`, as the later revision of OpenCALL addresses it. */
import type { JsonObject } from '../../core/json.ts'
import type { CatalogueMedia, CatalogueOperation } from '../catalogue.ts'
import { requestSchema } from '../documents/envelopes.ts'
import type { SchemaNames } from '../documents/operation-schemas.ts'
import { safeText } from '../documents/safe-text.ts'
import { ACCEPTED, CALL_REFUSALS, endedSchema, json, REDIRECTED, refer, refusals } from './responses.ts'

const MAX_SUMMARY = 120

/** A letter in lower case begins the names of functions. */
export function operationIdOf({ operation }: SchemaNames): string {
  return operation.slice(0, 1).toLowerCase() + operation.slice(1)
}

export function pathOf({ lineage, major }: CatalogueOperation): string {
  return `/ops/${lineage}/v${major}`
}

export function describeOperation(operation: CatalogueOperation, names: SchemaNames, operationId: string): JsonObject {
  const { model, scopes, deprecated, media } = operation
  const summary = safeText(summaryOf(operation))
  const about = safeText(descriptionOf(operation))
  return {
    operationId,
    tags: [tagOf(operation)],
    summary,
    // A repeat of the summary says nothing.
    ...(about !== '' && about !== summary && { description: about }),
    ...(deprecated && { deprecated: true }),
    ...(scopes.length > 0 && { security: [{ bearer: [...scopes] }, { apiKey: [...scopes] }] }),
    ...parametersOf(operation),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: refer(names.request) },
        ...(media.length > 0 && { 'multipart/form-data': multipart(operation, names) }),
      },
    },
    responses: {
      ...(model !== 'stream' &&
        !operation.chunked && { 200: json('The call has ended.', endedSchema(names.complete)) }),
      202: model === 'stream' ? json('The frames can be read.', refer('Streaming')) : ACCEPTED,
      ...(model !== 'stream' && { 303: REDIRECTED }),
      ...refusals(CALL_REFUSALS),
    },
    'x-opencall': factsOf(operation, names),
  }
}

export function tagOf({ namespace }: CatalogueOperation): string {
  return namespace ?? 'operations'
}

function summaryOf({ name, title, description }: CatalogueOperation): string {
  const [line = ''] = (title ?? description ?? '').split(/[\r\n]/, 1)
  const text = line.trim() || name
  return text.length <= MAX_SUMMARY ? text : `${text.slice(0, MAX_SUMMARY - 1)}…`
}

function descriptionOf({ description, errors, deprecated }: CatalogueOperation): string {
  const codes = errors.map(({ code, description: meaning = '', remedy = '' }) =>
    `- \`${code}\`: ${[meaning, remedy].filter((text) => text !== '').join(' ')}`.trimEnd(),
  )
  const { replacement, sunset } = deprecated ?? {}
  return [
    description,
    codes.length > 0 ? `Failures:\n\n${codes.join('\n')}` : undefined,
    replacement && `Deprecated: use ${replacement}.`,
    sunset && `It is served until ${sunset}.`,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n')
}

/** Without effects and without a stored result, a key has no meaning. */
function parametersOf({ idempotencyRequired, sideEffecting, model }: CatalogueOperation): JsonObject {
  const isKeyed = idempotencyRequired || sideEffecting || model === 'async'
  const key = { $ref: `#/components/parameters/${idempotencyRequired ? 'RequiredKey' : 'OptionalKey'}` }
  return { parameters: [...(isKeyed ? [key] : []), { $ref: '#/components/parameters/Prefer' }] }
}

function multipart({ args, media }: CatalogueOperation, names: SchemaNames): JsonObject {
  const argsRequired = Array.isArray(args.required) && args.required.length > 0
  const envelope = requestSchema({ args: refer(names.args), argsRequired, media: true }, refer)
  const parts = media.map((slot): [string, JsonObject] => [slot.name, partOf(slot)])
  const types = media.filter(({ acceptedTypes }) => acceptedTypes.length > 0)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([['envelope', envelope], ...parts]),
      required: ['envelope'],
    },
    encoding: Object.fromEntries([
      ['envelope', { contentType: 'application/json' }],
      ...types.map(({ name, acceptedTypes }) => [name, { contentType: acceptedTypes.join(', ') }]),
    ]),
  }
}

/** The caller names the part in `media` of the envelope. The usual name is that of the attachment. */
function partOf({ maxBytes }: CatalogueMedia): JsonObject {
  const limit = maxBytes === undefined ? '' : ` At most ${maxBytes} bytes.`
  return { type: 'string', format: 'binary', description: `The bytes that "media" of the envelope names.${limit}` }
}

/** What OpenAPI has no words for. */
function factsOf(operation: CatalogueOperation, { frame }: SchemaNames): JsonObject {
  const { name, model, chunked, sideEffecting, idempotencyRequired, ttlSeconds, cachingPolicy, stream } = operation
  return {
    op: name,
    executionModel: model,
    sideEffecting,
    idempotencyRequired,
    ttlSeconds,
    cachingPolicy,
    ...(chunked && { chunked }),
    ...(stream &&
      frame !== undefined && {
        frame: refer(frame),
        transports: [...stream.transports],
        encodings: [...stream.encodings],
      }),
  }
}
