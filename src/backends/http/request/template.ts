/** The `request` of an `http` backend: which argument goes where. This file checks the declaration. */
import { Fault } from '../../../core/fault.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { RemoteRequest } from '../../../core/ports/outbound.ts'
import { isReservedHeader } from '../../remote/settings.ts'
import { climbs, type PathStyle, QUERY_STYLES, type QueryStyle } from './styles.ts'

export interface Placeholder {
  readonly arg: string
  readonly style: PathStyle
  readonly explode: boolean
}

interface Placed {
  readonly name: string
  readonly arg: string
  readonly explode: boolean
}

export interface RequestTemplate {
  readonly method: RemoteRequest['method']
  /** Literal texts and placeholders. */
  readonly path: readonly (string | Placeholder)[]
  readonly query: readonly (Placed & { style: QueryStyle })[]
  /** Names in lower case. */
  readonly headers: readonly Placed[]
  /** The argument that is the body, or `*` for all arguments that have no other place. */
  readonly body: string | undefined
  readonly contentType: string
}

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies RemoteRequest['method'][]
const SETTINGS = ['method', 'path', 'query', 'headers', 'body', 'contentType']
const FORM = 'application/x-www-form-urlencoded'
const CONTENT_TYPE = /^(?:application\/(?:[\w.+-]+\+)?json|text\/[\w.+-]+|application\/x-www-form-urlencoded)$/
const HEADER = /^[!#$%&'*+.^_`|~\w-]+$/

export function isForm(contentType: string): boolean {
  return contentType === FORM
}

export function parseTemplate(given: unknown): RequestTemplate {
  if (!isJsonObject(given)) refuse('', 'must be an object, such as { method: GET, path: "/items/{id}" }')
  const unknown = Object.keys(given).find((name) => !SETTINGS.includes(name))
  if (unknown !== undefined) refuse(`.${unknown}`, `does not exist. Its settings are ${SETTINGS.join(', ')}`)
  const { method = 'POST', body, contentType = 'application/json' } = given
  if (typeof method !== 'string' || !METHODS.includes(method)) refuse('.method', `must be one of ${METHODS.join(', ')}`)
  if (body !== undefined && (typeof body !== 'string' || body === '')) {
    refuse('.body', 'must be the name of an argument, or "*" for all arguments that have no other place')
  }
  if (body !== undefined && method === 'GET') refuse('.body', 'cannot be used with GET, which has no body')
  if (typeof contentType !== 'string' || !CONTENT_TYPE.test(contentType)) {
    refuse('.contentType', `must be a JSON type, a text type or ${FORM}`)
  }
  return {
    method: method as RemoteRequest['method'],
    path: pathIn(given.path),
    query: queryIn(given.query),
    headers: headersIn(given.headers),
    body,
    contentType,
  }
}

function pathIn(given: unknown = ''): (string | Placeholder)[] {
  if (typeof given !== 'string' || (given !== '' && !given.startsWith('/'))) {
    refuse('.path', 'must be a text that begins with "/", such as /items/{id}')
  }
  if (/[?#]/.test(given)) refuse('.path', 'must not contain "?" or "#"; parameters of the query belong in "query"')
  if (climbs(given)) refuse('.path', 'must not have "." or ".." as a part')
  const parts = given.split(/(\{[^{}]*\})/).filter((part) => part !== '')
  return parts.map((part) => {
    const match = /^\{([.;]?)([^{}*]+)(\*?)\}$/.exec(part)
    if (match) return { style: match[1] as PathStyle, arg: match[2] as string, explode: match[3] === '*' }
    if (/[{}]/.test(part)) refuse('.path', 'has a brace that is not closed. Write placeholders as {name}')
    // A literal is sent as it is written, apart from characters that no URL may have.
    return encodeURI(part.toWellFormed()).replaceAll('%25', '%')
  })
}

function queryIn(given: unknown): RequestTemplate['query'] {
  return placesIn(given, 'query').map(({ place, name, arg, rule }) => {
    const { style = 'form', explode, ...more } = rule
    if (!QUERY_STYLES.some((known) => known === style)) {
      refuse(`${place}.style`, `must be one of ${QUERY_STYLES.join(', ')}`)
    }
    return { name, arg, style: style as QueryStyle, explode: explodeIn(place, explode, style === 'form', more) }
  })
}

function headersIn(given: unknown): Placed[] {
  return placesIn(given, 'headers').map(({ place, name, arg, rule }) => {
    if (!HEADER.test(name)) refuse(place, 'is not the name of a header')
    if (isReservedHeader(name)) refuse(place, 'cannot be an argument; credentials are declared in "auth"')
    const { explode, ...more } = rule
    return { name: name.toLowerCase(), arg, explode: explodeIn(place, explode, false, more) }
  })
}

/** Either `name: argument` or `name: { arg: argument, … }`. */
function placesIn(given: unknown, where: string) {
  if (given === undefined) return []
  if (!isJsonObject(given)) refuse(`.${where}`, 'must map names to arguments, such as { limit: pageSize }')
  return Object.entries(given).map(([name, value]) => {
    const place = `.${where}.${name}`
    const { arg, ...rule } = isJsonObject(value) ? value : { arg: value }
    if (typeof arg !== 'string' || arg === '') refuse(place, 'must be the name of an argument, or { arg: name }')
    return { place, name, arg, rule }
  })
}

function explodeIn(place: string, given: unknown, fallback: boolean, more: object): boolean {
  const [unknown] = Object.keys(more)
  if (unknown !== undefined) refuse(`${place}.${unknown}`, 'does not exist')
  if (given !== undefined && typeof given !== 'boolean') refuse(`${place}.explode`, 'must be true or false')
  return given ?? fallback
}

function refuse(place: string, problem: string): never {
  throw new Fault('policy-invalid', `backend.request${place} ${problem}.`)
}
