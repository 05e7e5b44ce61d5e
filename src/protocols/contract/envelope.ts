/** Reads a ToolExecutionRequest, or reports its first problem, in the order of docs/readings.md#a7. */

import type { CallTerms } from '../../core/call/call.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { RISKS } from '../../core/operation/rules.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { CONTRACT_VERSION, type Trace } from './wire.ts'

const MAX_ID = 256
const MAX_LIMIT = 2_147_483_647
/** docs/readings.md#a6: a minor version only adds fields, so that every v1.x is accepted. */
const SAME_MAJOR = /^v1(?:\.\d+)*$/

/** The fields of a request that this server uses. */
export interface ParsedRequest {
  requestId: string
  toolName: string
  args: JsonValue
  /** Number of the runtime's attempt. Default: 1. */
  attempt: number
  terms: CallTerms
  /** Empty if the request has no mode. */
  mode: string
  auth: { profile: string; secretRef: string; scopes: readonly string[] }
  taskId: string
}

/** Returns the fields of a request that the response repeats, also if the rest of the request is invalid. */
export function identityIn(body: JsonValue | undefined): { requestId: string; trace: Trace } {
  const { request_id: requestId, trace }: JsonObject = isJsonObject(body) ? body : {}
  const { trace_id, span_id }: JsonObject = isJsonObject(trace) ? trace : {}
  return { requestId: shown(requestId), trace: { trace_id: shown(trace_id), span_id: shown(span_id) } }
}

/** `headerVersion` is used if the body has no version. */
export function parseRequest(body: JsonValue, headerVersion?: string): ParsedRequest {
  if (!isJsonObject(body)) throw invalid('The request must be a JSON object.')
  checkVersion(isBlank(body.tool_contract_version) ? headerVersion : body.tool_contract_version)
  const requestId = parseRequired(body.request_id, 'request_id')
  const tool = parseObject(body.tool, 'tool')
  const toolName = parseRequired(tool.name, 'tool.name')
  checkTool(tool)
  const runtime = parseObject(body.runtime, 'runtime')
  const auth = parseObject(body.auth, 'auth')
  return {
    requestId,
    toolName,
    args: parseInput(body),
    attempt: parseLimit(runtime.attempt, 'runtime.attempt') ?? 1,
    terms: parseTerms(runtime),
    mode: parseText(runtime.mode, 'runtime.mode'),
    auth: {
      profile: parseText(auth.profile, 'auth.profile'),
      secretRef: parseText(auth.secret_ref, 'auth.secret_ref'),
      scopes: parseTexts(auth.scopes, 'auth.scopes'),
    },
    taskId: parseText(body.task_id, 'task_id'),
  }
}

function checkVersion(version: JsonValue | undefined): void {
  if (isBlank(version) || (typeof version === 'string' && SAME_MAJOR.test(version))) return
  throw new Fault('invalid-input', 'This version of the Tool Contract is not supported. Send v1.', {
    code: 'UNSUPPORTED_VERSION',
    details: { field: 'tool_contract_version', expected: CONTRACT_VERSION },
  })
}

function checkTool({ operation, capabilities, risk_level: risk }: JsonObject): void {
  const asked = parseText(operation, 'tool.operation')
  if (asked !== '' && asked !== 'invoke') {
    throw new Fault(
      'unknown-operation',
      'The only supported tool.operation is "invoke". Send "invoke", or leave it out.',
      {
        details: { field: 'tool.operation', expected: 'invoke' },
      },
    )
  }
  parseTexts(capabilities, 'tool.capabilities')
  // docs/readings.md#a28.
  const level = parseText(risk, 'tool.risk_level')
  if (level !== '' && !RISKS.some((known) => known === level)) {
    throw invalid(`tool.risk_level must be one of ${RISKS.join(', ')}.`, 'tool.risk_level')
  }
}

/** docs/readings.md#a2. */
function parseInput({ input, input_raw: given }: JsonObject): JsonValue {
  const raw = parseText(given, 'input_raw', Number.POSITIVE_INFINITY).trim()
  if (raw === '') return parseObject(input, 'input')
  try {
    return parseJsonText(raw)
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'INVALID_JSON') return raw
    throw invalid(`input_raw: ${Fault.from(thrown).message}`, 'input_raw')
  }
}

/** docs/readings.md#a20 and #a22. Zero means no limit. The engine compares these with the operation's own limits. */
function parseTerms(runtime: JsonObject): CallTerms {
  const timeoutMs = parseLimit(runtime.timeout_ms, 'runtime.timeout_ms')
  const attempts = parseLimit(runtime.max_attempts, 'runtime.max_attempts')
  const maxBackoffMs = parseLimit(runtime.max_backoff_ms, 'runtime.max_backoff_ms')
  const deadlineMs = parseLimit(runtime.deadline_ms, 'runtime.deadline_ms')
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(attempts !== undefined && { attempts }),
    ...(maxBackoffMs !== undefined && { maxBackoffMs }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

function parseLimit(value: JsonValue | undefined, field: string): number | undefined {
  if (value === undefined || value === null || value === 0) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return Math.min(value, MAX_LIMIT)
  throw invalid(`${field} must be a whole number above 0, or left out.`, field)
}

function parseRequired(value: JsonValue | undefined, field: string): string {
  if (isBlank(value)) throw invalid(`${field} is missing. Every request needs one.`, field)
  return parseText(value, field)
}

function parseText(value: JsonValue | undefined, field: string, maxLength = MAX_ID): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string' && value.length <= maxLength) return value
  throw invalid(`${field} must be a string${maxLength === MAX_ID ? ` of at most ${MAX_ID} characters` : ''}.`, field)
}

function parseTexts(value: JsonValue | undefined, field: string): readonly string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[]
  throw invalid(`${field} must be an array of strings.`, field)
}

function parseObject(value: JsonValue | undefined, field: string): JsonObject {
  if (value === undefined || value === null) return {}
  if (isJsonObject(value)) return value
  throw invalid(`${field} must be an object.`, field)
}

function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

function shown(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.slice(0, MAX_ID) : ''
}

function invalid(message: string, field?: string): Fault {
  return new Fault('invalid-input', message, field === undefined ? {} : { details: { field } })
}
