/** Turns one operation of an API into the declaration of a tool. */
import { mapBody, mapResult } from './contents.ts'
import { type Json, type JsonObject, listAt, member, textAt } from './json.ts'
import { freeName, mapParameters, parametersOf } from './parameters.ts'
import type { References } from './references.ts'
import { SchemaWriter } from './schemas.ts'
import { type Auth, mapSecurity } from './security.ts'
import { serverOf } from './servers.ts'

const MAX_DESCRIPTION = 4_000

export interface ApiSource {
  readonly document: JsonObject
  /** The path of the document; empty if it came from a URL. */
  readonly file: string
  readonly base: string | undefined
  readonly references: References
  readonly namespace: string
  readonly server: string | undefined
  readonly allowPrivate: boolean
  readonly results: boolean
}

export interface ApiOperation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly value: JsonObject
  readonly pathItem: JsonObject
  /** The file that the path is described in. */
  readonly file: string
}

export interface MappedOperation {
  readonly declaration: Record<string, unknown>
  readonly auth: Auth | undefined
  readonly dropped: readonly string[]
}

export function mapOperation(name: string, operation: ApiOperation, source: ApiSource): MappedOperation {
  const { value, pathItem, method, file } = operation
  const { references } = source
  const endpoint = serverOf([value, pathItem, source.document], source.base, source.server)
  const auth = mapSecurity(value, { ...source, server: endpoint })
  const schemas = new SchemaWriter(references, 'request')
  const credentialHeader = auth && (auth.headerName ?? 'authorization').toLowerCase()
  const mapped = mapParameters(operation.path, [parametersOf(pathItem, file), parametersOf(value, file)], {
    references,
    schemas,
    credentialHeader,
  })
  const { properties, required, path, query, headers, dropped } = mapped
  const body = method === 'get' ? undefined : mapBody(member(value, 'requestBody'), file, references, schemas)
  const bodyArgument = body && freeName({ properties }, { in: 'request', name: 'body' })
  if (body && bodyArgument !== undefined) {
    properties[bodyArgument] = body.schema
    if (body.required) required.push(bodyArgument)
  }
  const args = {
    type: 'object',
    ...(required.length > 0 && { required: [...new Set(required)] }),
    // An unknown argument would become a parameter of the request.
    additionalProperties: false,
    properties,
    ...schemas.defs(),
  }
  const request = {
    method: method.toUpperCase(),
    path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body && { body: bodyArgument }),
    ...(body && body.contentType !== 'application/json' && { contentType: body.contentType }),
  }
  const result = resultOf(value, operation, source)
  const declaration = {
    operation: name,
    ...describe(value),
    args,
    ...(result !== undefined && { result }),
    ...rulesOf(method),
    backend: { kind: 'http', endpoint, ...(source.allowPrivate && { allowPrivate: true }), request },
    ...(auth && { auth }),
  }
  return { declaration, auth, dropped }
}

/** Also refuses operations whose responses no tool can have, so it runs without `results`, too. */
function resultOf(value: JsonObject, { file }: ApiOperation, { references, results }: ApiSource): unknown {
  const schemas = new SchemaWriter(references, 'response')
  const written = mapResult(member(value, 'responses'), file, references, schemas)
  if (!results || typeof written !== 'object' || written === null || Object.keys(written).length === 0) return undefined
  return { ...written, ...schemas.defs() }
}

function describe(operation: JsonObject): { description?: string } {
  const texts = [
    member(operation, 'deprecated') === true ? 'Deprecated.' : undefined,
    textAt(operation, 'summary'),
    textAt(operation, 'description'),
  ]
  const description = [...new Set(texts.map((text) => text?.trim()))]
    .filter(Boolean)
    .join('\n\n')
    .slice(0, MAX_DESCRIPTION)
  return description === '' ? {} : { description: description.toWellFormed() }
}

/** RFC 9110: GET changes nothing, and repeating PUT or DELETE changes nothing more. */
function rulesOf(method: ApiOperation['method']): Record<string, unknown> {
  if (method === 'get')
    return { capabilities: ['network.read'], retry: { attempts: 3, backoffMs: 250, jitter: 'full' } }
  const capabilities = method === 'delete' ? ['network.write', 'external.side_effect'] : ['network.write']
  const repeatable = method === 'put' || method === 'delete' ? { idempotencyRequired: false } : {}
  return { capabilities, risk: 'medium', sideEffecting: true, ...repeatable }
}

export function tagOf(operation: JsonObject): string {
  const [tag]: readonly (Json | undefined)[] = listAt(operation, 'tags')
  const word =
    typeof tag === 'string'
      ? tag
          .toLowerCase()
          .replaceAll(/[^a-z0-9]+/g, '-')
          .replaceAll(/^-+|-+$/g, '')
      : ''
  return word.slice(0, 60) || 'tools'
}
