/** Fills a request template with the arguments of a call. No argument is lost: those without a place go into the query. */
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { RemoteRequest } from '../../../core/ports/outbound.ts'
import { climbs, joinPairs, type Pair, pathText, queryPairs, simpleText, textOf } from './styles.ts'
import { isForm, type Placeholder, type RequestTemplate } from './template.ts'

export type FilledRequest = Pick<RemoteRequest, 'method' | 'url' | 'headers' | 'body'>

export function fillTemplate(template: RequestTemplate, endpoint: string, given: unknown): FilledRequest {
  const args = argumentsIn(given)
  const body = bodyOf(template, args)
  return {
    method: template.method,
    url: urlOf(template, endpoint, args),
    headers: { ...headersOf(template, args), ...(body !== undefined && { 'content-type': template.contentType }) },
    ...(body !== undefined && { body }),
  }
}

function argumentsIn(given: unknown): JsonObject {
  if (given === undefined || given === null) return {}
  if (isJsonObject(given)) return given
  throw invalid('The arguments must be an object, because the tool takes its parameters by name.')
}

function urlOf({ path, query, ...template }: RequestTemplate, endpoint: string, args: JsonObject): string {
  const url = new URL(endpoint)
  const filled = path.map((part) => (typeof part === 'string' ? part : placeholderText(part, args))).join('')
  if (climbs(filled)) {
    // Such a part would be resolved, and the request would go to another path than the declared one.
    throw invalid('An argument in the path must not be "." or "..".')
  }
  const pairs = query.flatMap(({ name, arg, style, explode }): Pair[] => {
    const value = argumentIn(args, arg)
    return value === undefined ? [] : queryPairs(name, value, style, explode)
  })
  const rest = template.body === '*' ? {} : restOf({ path, query, ...template }, args)
  const free = Object.entries(rest).flatMap(([name, value]) =>
    value === null ? [] : queryPairs(name, value, 'form', true),
  )
  const added = joinPairs([...pairs, ...free])
  const search = [url.search.slice(1), added].filter((part) => part !== '').join('&')
  const base = filled === '' ? url.pathname : url.pathname.replace(/\/$/, '') + filled
  return `${url.origin}${base}${search === '' ? '' : `?${search}`}`
}

function placeholderText({ arg, style, explode }: Placeholder, args: JsonObject): string {
  const value = argumentIn(args, arg)
  if (value === undefined || simpleText(value, false, (text) => text) === '') {
    // Without its value the path would be that of another resource, such as the list of all items.
    throw invalid(`The argument "${arg}" must not be empty, because it is a part of the path.`)
  }
  return pathText(arg, value, style, explode)
}

function headersOf({ headers }: RequestTemplate, args: JsonObject): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const { name, arg, explode } of headers) {
    const value = argumentIn(args, arg)
    if (value === undefined) continue
    const text = simpleText(value, explode, (part) => part)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
      throw invalid(`The argument "${arg}" is sent as a header, so it must be Latin text on one line.`)
    }
    sent[name] = text
  }
  return sent
}

function bodyOf(template: RequestTemplate, args: JsonObject): string | undefined {
  const { body, contentType } = template
  if (body === undefined) return undefined
  const value = body === '*' ? restOf(template, args) : Object.hasOwn(args, body) ? args[body] : undefined
  if (value === undefined) return undefined
  if (contentType.startsWith('text/')) return textOf(value)
  if (!isForm(contentType)) return JSON.stringify(value)
  if (!isJsonObject(value)) throw invalid('The body must be an object, because it is sent as a form.')
  return joinPairs(
    Object.entries(value).flatMap(([name, member]) => (member === null ? [] : queryPairs(name, member, 'form', true))),
  )
}

/** The arguments that the template does not name. */
function restOf({ path, query, headers, body }: RequestTemplate, args: JsonObject): JsonObject {
  const named = [...path, ...query, ...headers].flatMap((part) => (typeof part === 'string' ? [] : part.arg))
  const taken = new Set([...named, body])
  return Object.fromEntries(Object.entries(args).filter(([name]) => !taken.has(name)))
}

/** `null` in a path, a query or a header means: not given. */
function argumentIn(args: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(args, name) ? (args[name] ?? undefined) : undefined
}

function invalid(message: string): Fault {
  return new Fault('invalid-input', message)
}
