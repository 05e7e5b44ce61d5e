/** Checks that the stateless revision's headers match the body, because proxies route by these headers. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'

type Header = (name: string) => string | undefined

const ENCODED = '=?base64?'
const BASE64 = /^=\?base64\?(.*)\?=$/
// Padding is required, because decoders treat missing padding differently.
const CANONICAL = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The parameter of each method that `Mcp-Name` repeats. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

export function checkStandardHeaders(header: Header, method: string, params: JsonObject): void {
  compare('Mcp-Method', header('mcp-method'), method)
  const field = NAMED[method]
  if (field !== undefined && typeof params[field] === 'string') {
    compare('Mcp-Name', header('mcp-name'), params[field] as string)
  }
}

interface HeaderParam {
  property: string
  header: string
}

export type CheckParamHeaders = (header: Header, operation: Operation, args: JsonObject) => void

/** Checks the arguments that the tool's schema maps to headers with `x-mcp-header`. */
export function createParamHeaderCheck(): CheckParamHeaders {
  const known = new WeakMap<Operation, readonly HeaderParam[]>()
  return (header, operation, args) => {
    let params = known.get(operation)
    if (!params) {
      params = headerParamsOf(operation.schemas.args)
      known.set(operation, params)
    }
    for (const { property, header: name } of params) {
      const value = Object.hasOwn(args, property) ? args[property] : undefined
      const sent = header(`mcp-param-${name.toLowerCase()}`)
      if (sent === undefined && (value === undefined || value === null)) continue
      compare(`Mcp-Param-${name}`, sent, plainText(value))
    }
  }
}

function headerParamsOf({ properties }: JsonObject): readonly HeaderParam[] {
  if (!isJsonObject(properties)) return []
  return Object.entries(properties).flatMap(([property, schema]) => {
    const header = isJsonObject(schema) ? schema['x-mcp-header'] : undefined
    return typeof header === 'string' ? [{ property, header }] : []
  })
}

function plainText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'object' || value === undefined ? undefined : String(value)
}

function compare(name: string, sent: string | undefined, expected: string | undefined): void {
  if (sent === undefined) throw mismatch(`The header ${name} is missing. It must repeat the value in the body.`)
  // The usual case, without the pattern.
  if (sent === expected && !sent.startsWith(ENCODED)) return
  const value = decode(sent.trim())
  if (value === undefined) throw mismatch(`The header ${name} is not valid Base64.`)
  if (value !== expected) throw mismatch(`The header ${name} differs from the body. Send the same value in both.`)
}

/** A value that is not allowed in a header is sent as `=?base64?…?=`. Returns `undefined` if that is invalid. */
function decode(value: string): string | undefined {
  const encoded = BASE64.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!CANONICAL.test(encoded)) return undefined
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof DOMException) return undefined
    throw thrown
  }
}

export function mismatch(message: string): Fault {
  return new Fault('malformed', message, { code: 'HEADER_MISMATCH' })
}
