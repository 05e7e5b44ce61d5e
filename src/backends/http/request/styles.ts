/**
 * How values are written into a request: the styles of OpenAPI's parameters, most of which are those of URI templates
 * (RFC 6570). Values inside values have no style there; they are written as JSON.
 */
import { isJsonObject, type JsonValue } from '../../../core/json.ts'

/** One name and one value of a query or a form. The value is encoded, so that a delimiter differs from its character. */
export type Pair = readonly [name: string, encoded: string]

export const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'] as const
export type QueryStyle = (typeof QUERY_STYLES)[number]

/** The operator of a placeholder in a path: none, `.` or `;`. */
export type PathStyle = '' | '.' | ';'

/** Encodes for any part of a URL. A lone surrogate has no encoding, and becomes U+FFFD as everywhere on the web. */
export function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Simple style: a list is `a,b`; an object is `x,1,y,2`, or with `explode` `x=1,y=2`. */
export function simpleText(value: JsonValue, explode: boolean, encode: (text: string) => string): string {
  if (Array.isArray(value)) return value.map((item) => encode(textOf(item))).join(',')
  if (!isJsonObject(value)) return encode(textOf(value))
  const between = explode ? '=' : ','
  return Object.entries(value)
    .map(([name, member]) => `${encode(name)}${between}${encode(textOf(member))}`)
    .join(',')
}

/** A value in a path. `name` is used by `;` only. */
export function pathText(name: string, value: JsonValue, style: PathStyle, explode: boolean): string {
  if (style === '') return simpleText(value, explode, encodePart)
  const several = explode && typeof value === 'object' && value !== null
  if (style === '.') return `.${simpleText(value, explode, encodePart).replaceAll(',', several ? '.' : ',')}`
  if (!several) return `;${encodePart(name)}=${simpleText(value, false, encodePart)}`
  const pairs = Array.isArray(value) ? value.map((item) => [name, item] as const) : Object.entries(value)
  return pairs.map(([key, item]) => `;${encodePart(key)}=${encodePart(textOf(item))}`).join('')
}

const DELIMITERS = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const

/** A value in a query or a form. An empty list or object has no pairs. */
export function queryPairs(name: string, value: JsonValue, style: QueryStyle, explode: boolean): Pair[] {
  if (style === 'json') return [[name, encodePart(JSON.stringify(value))]]
  if (typeof value !== 'object' || value === null) return [[name, encodeValue(value)]]
  if (style === 'deepObject') return deepPairs(name, value)
  if (explode) {
    return Array.isArray(value)
      ? value.map((item) => [name, encodeValue(item)])
      : Object.entries(value).map(([key, member]) => [key, encodeValue(member)])
  }
  const items = Array.isArray(value) ? value : Object.entries(value).flat()
  return items.length === 0 ? [] : [[name, items.map(encodeValue).join(DELIMITERS[style])]]
}

/** `filter[a][b]=1`. A list repeats its name: `filter[a]=1&filter[a]=2`. */
function deepPairs(name: string, value: JsonValue): Pair[] {
  if (Array.isArray(value)) return value.map((item) => [name, encodeValue(item)])
  if (!isJsonObject(value)) return [[name, encodeValue(value)]]
  return Object.entries(value).flatMap(([key, member]) => deepPairs(`${name}[${key}]`, member))
}

function encodeValue(value: JsonValue): string {
  return encodePart(textOf(value))
}

export function joinPairs(pairs: readonly Pair[]): string {
  return pairs.map(([name, encoded]) => `${encodePart(name)}=${encoded}`).join('&')
}

/** True if a URL would be resolved to another path: it has `.` or `..` as a part, also in an encoding of the dots. */
export function climbs(path: string): boolean {
  return path.split('/').some((part) => /^(?:\.|%2e){1,2}$/i.test(part))
}
