/** Parses the body of a call in any dialect, or reports its problem. Messages never quote values. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Given } from '../../core/operation/requirements.ts'
import type { CallToolRequest, Dialect } from './wire.ts'

const MAX_ID = 256
const MAX_SECRET = 16_384
const MAX_ENTRIES = 100
// The specification's pattern has no maximum length.
const MAX_TOOL_ID = 200

const OXP_MARKER = /^urn:oxp:1\.0(?:\.\d+)?$/
const OTC_MARKER =
  /^(?:otc:\/\/1\.0|https:\/\/github\.com\/Open(?:ToolCalling|ExecProtocol)\/Specification\/\S*\/http\/1\.0\/openapi\.json)$/
const HEADER_VERSION = /^1\.0(?:\.\d+)?$/

/** Returns the dialect of the response, also for an invalid body. `base` is the dialect of the path. */
export function dialectOf(body: JsonValue, base: 'flat' | 'otc'): Dialect {
  if (base === 'otc' || !isJsonObject(body) || body.tool_id !== undefined || body.request === undefined) return base
  return typeof body.$schema === 'string' && body.$schema.startsWith('urn:oxp:') ? 'wrapped' : 'otc'
}

export function checkVersionHeader(version: string | undefined): void {
  if (version === undefined || HEADER_VERSION.test(version)) return
  throw unsupported(
    `OXP-Version ${version.slice(0, 50)} is not supported`,
    'Send OXP-Version: 1.0, or leave the header out.',
  )
}

export function parseRequest(body: JsonValue, dialect: Dialect): CallToolRequest {
  if (!isJsonObject(body)) throw invalid('The body must be a JSON object.')
  if (dialect === 'flat') return parseFlat(body)
  const { $schema, request, ...rest } = body
  if ($schema !== undefined) checkMarker($schema, dialect)
  const unknown = Object.keys(rest)[0]
  if (unknown === 'tool_id' && request === undefined)
    throw invalid('OTC requires the call in "request". Move "tool_id" there.')
  if (unknown !== undefined) throw unknownField(unknown)
  if (!isJsonObject(request)) throw invalid('"request" must be an object that contains the call.')
  return parseCall(request)
}

function parseFlat(body: JsonObject): CallToolRequest {
  if (body.tool_id === undefined) {
    throw invalid('The body names no tool. Send "tool_id", or a "request" with "tool_id".')
  }
  if (body.request !== undefined) {
    throw invalid('The body has both "tool_id" and "request". Send only one of them.')
  }
  return parseCall(body)
}

function checkMarker(marker: JsonValue, dialect: Dialect): void {
  const known = dialect === 'wrapped' ? OXP_MARKER : OTC_MARKER
  if (typeof marker === 'string' && known.test(marker)) return
  const shown = typeof marker === 'string' ? `"${marker.slice(0, 200)}"` : 'this'
  throw unsupported(
    `${shown} as "$schema" is not supported`,
    'Send "otc://1.0" or "urn:oxp:1.0". Leave it out for OTC 1.0.',
  )
}

function parseCall(call: JsonObject): CallToolRequest {
  const { tool_id: toolId, input } = call
  if (typeof toolId !== 'string') throw invalid('"tool_id" must be a string, such as "Calculator.Add@1.0.0".')
  if (input !== undefined && !isJsonObject(input))
    throw invalid('"input" must be an object with the parameters by name.')
  const request: CallToolRequest = { toolId, input: input ?? {} }
  for (const field in call) {
    switch (field) {
      case 'tool_id':
      case 'input':
        break
      case 'call_id':
        request.callId = parseId(call.call_id, '"call_id"')
        break
      case 'trace_id':
        request.traceId = parseText(call.trace_id, '"trace_id"', 0, MAX_ID)
        break
      case 'context':
        request.context = parseContext(call.context)
        break
      default:
        throw unknownField(field)
    }
  }
  return request
}

function parseContext(context: JsonValue | undefined): Given {
  if (!isJsonObject(context)) throw invalid('"context" must be an object.')
  const { authorization, secrets, user_id: userId } = context
  return {
    tokens: parseEntries(authorization, 'authorization', 'token'),
    secrets: parseEntries(secrets, 'secrets', 'value'),
    ...(userId !== undefined && { userId: parseId(userId, '"context.user_id"') }),
  }
}

function parseEntries(list: JsonValue | undefined, name: string, field: string): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  if (list === undefined) return entries
  const at = `context.${name}`
  if (!Array.isArray(list)) throw invalid(`"${at}" must be an array.`)
  if (list.length > MAX_ENTRIES) throw invalid(`"${at}" may have at most ${MAX_ENTRIES} entries.`)
  for (const [index, entry] of list.entries()) {
    if (!isJsonObject(entry)) throw invalid(`"${at}[${index}]" must be an object.`)
    const id = parseId(entry.id, `"${at}[${index}].id"`)
    if (entries.has(id)) throw invalid(`"${at}" has two entries with the id "${id}". Send one.`)
    entries.set(id, parseText(entry[field], `"${at}[${index}].${field}"`, 1, MAX_SECRET))
  }
  return entries
}

function parseId(value: JsonValue | undefined, what: string): string {
  return parseText(value, what, 1, MAX_ID)
}

function parseText(value: JsonValue | undefined, what: string, min: number, max: number): string {
  if (typeof value === 'string' && value.length >= min && value.length <= max) return value
  throw invalid(`${what} must be a string of ${min} to ${max} characters.`)
}

const TOOL_ID = /^(\w+\.\w+)(?:@(\d+)(\.\d+\.\d+)?)?$/

export interface ToolReference {
  /** Without the version. */
  id: string
  /** The full version. `@1` means exactly 1.0.0. */
  version?: string
}

/** "Tool Version Resolution" */
export function parseToolId(text: string): ToolReference {
  const match = text.length <= MAX_TOOL_ID ? TOOL_ID.exec(text) : null
  if (!match) {
    throw new Fault('malformed', `'${text.slice(0, MAX_TOOL_ID)}' is not a tool ID`, {
      developerMessage: 'A tool ID is Toolkit.Tool, Toolkit.Tool@1 or Toolkit.Tool@1.2.0.',
    })
  }
  const [, id = '', major, rest = '.0.0'] = match
  return major === undefined ? { id } : { id, version: major + rest }
}

function unknownField(name: string): Fault {
  return invalid(`"${name.slice(0, 100)}" is not a field of a call. Remove it; parameters go into "input".`)
}

function unsupported(message: string, developerMessage: string): Fault {
  return new Fault('malformed', message, { code: 'UNSUPPORTED_VERSION', developerMessage })
}

function invalid(message: string): Fault {
  return new Fault('malformed', message)
}
