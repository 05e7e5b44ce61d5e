/** The responses of an OpenAPI document. */
import type { JsonObject } from '../../core/json.ts'
import type { JsonSchema } from '../catalogue.ts'
import { oneOf, type Refer } from '../documents/envelopes.ts'

export const refer: Refer = (name) => ({ $ref: `#/components/schemas/${name}` })

/** What the statuses of refused calls mean. */
const REFUSALS: Readonly<Record<string, string>> = {
  400: 'The request is wrong. Correct it before you send it again.',
  401: 'The server requires a credential, or rejected the one that it received.',
  403: 'The caller may not do this.',
  404: 'There is no such call or object, or it belongs to another caller.',
  410: 'The operation was removed. The cause may name a replacement.',
  416: 'The range is outside the object.',
  429: 'Too many requests. Wait as long as Retry-After says.',
  500: 'The call failed in the server.',
  502: 'The call failed in a system that the server depends on.',
  503: 'The server is overloaded or unavailable. Try again later.',
}

export const CALL_REFUSALS = [400, 401, 403, 410, 429, 500, 502, 503]
export const FOLLOW_REFUSALS = [400, 401, 404, 429, 500, 503]

export function json(description: string, schema: JsonSchema): JsonObject {
  return { description, content: { 'application/json': { schema } } }
}

/** References to the responses that refuse a request. */
export function refusals(statuses: readonly number[]): JsonObject {
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Refused${status}` }]))
}

export function sharedResponses(): JsonObject {
  const refused = Object.entries(REFUSALS).map(([status, description]) => [
    `Refused${status}`,
    json(description, refer('Failed')),
  ])
  return Object.fromEntries([
    ...refused,
    ['Accepted', json('The call runs, or its result is at another place.', acceptedSchema())],
    ['Redirected', { ...json('The result is at the address.', refer('Located')), headers: LOCATION_HEADER }],
  ])
}

const LOCATION_HEADER = { Location: { schema: { type: 'string' }, description: 'Where the result is.' } }

export const ACCEPTED: JsonObject = { $ref: '#/components/responses/Accepted' }
export const REDIRECTED: JsonObject = { $ref: '#/components/responses/Redirected' }

function acceptedSchema(): JsonSchema {
  return oneOf(
    'state',
    { accepted: 'Waiting', pending: 'Waiting', complete: 'Located', streaming: 'Streaming', error: 'Failed' },
    refer,
  )
}

/** The responses of a call that has ended. */
export function endedSchema(complete: string): JsonSchema {
  return oneOf('state', { complete, error: 'Failed' }, refer)
}
