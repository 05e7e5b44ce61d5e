/**
 * Decodes responses to calls. Unknown fields are ignored. A result is accepted with or without its wrapper, because
 * published servers take wrapped calls and send plain results.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Addresses } from './addresses.ts'
import { OxpError, type OxpErrorFacts } from './error.ts'
import { type Answer, notOxp, saidBy } from './exchange.ts'
import type { ChallengeInfo, OxpResult } from './options.ts'
import type { ToolCall } from './requests.ts'

/** Returns the result, or throws an `OxpError`. */
export function decodeAnswer(answer: Answer, call: ToolCall, addresses: Addresses): OxpResult {
  const { status, body } = answer
  if (status === 200) return decodeResult(answer, call)
  const message = saidBy(body)
  if (message === undefined || !isJsonObject(body)) {
    throw status >= 500 ? serverError(answer) : notOxp(answer)
  }
  // Also 503: a gateway may answer it for a call that the server behind it runs.
  if (status >= 500) throw serverError(answer, message)
  throw new OxpError(message, { ...refusalFacts(answer, body, call, addresses), status })
}

function decodeResult(answer: Answer, { callId }: ToolCall): OxpResult {
  const { status, body } = answer
  const reply = isJsonObject(body) && isJsonObject(body.result) && !('success' in body) ? body.result : body
  if (!isJsonObject(reply) || typeof reply.success !== 'boolean') throw notOxp(answer, missingSuccess(answer))
  const { success, value, error, call_id: replyId, duration } = reply
  if (typeof replyId === 'string' && replyId !== callId) {
    throw new OxpError('The response belongs to another call: it has another call_id.', {
      code: 'WRONG_REPLY',
      outcome: 'unknown',
      status,
    })
  }
  if (!success) throw toolError(error, answer)
  if (isJsonObject(error)) throw notOxp(answer, 'both "success": true and an "error"')
  return { value: value ?? null, callId, durationMs: typeof duration === 'number' ? duration : undefined }
}

function missingSuccess({ body }: Answer): string | undefined {
  const said = saidBy(body)
  if (said !== undefined) return `an error instead of a result: "${said.slice(0, 200)}"`
  return isJsonObject(body) ? 'a result whose "success" is not true or false' : undefined
}

/** "Tool Execution Errors". `can_retry` counts only if it is `true`. */
function toolError(error: JsonValue | undefined, answer: Answer): OxpError {
  if (!isJsonObject(error) || typeof error.message !== 'string') {
    return notOxp(answer, '"success": false without an "error" that has a message')
  }
  const { message, developer_message, can_retry, additional_prompt_content, retry_after_ms, still_running } = error
  const isRunning = still_running === true
  return new OxpError(message, {
    code: isRunning ? 'STILL_RUNNING' : 'TOOL_FAILED',
    outcome: isRunning ? 'unknown' : 'failed',
    status: answer.status,
    developerMessage: text(developer_message),
    canRetry: can_retry === true,
    retryAfterMs: delay(retry_after_ms),
    additionalPromptContent: text(additional_prompt_content),
  })
}

/** "Server Errors" and "Input Validation Errors": the tool was not called. */
function refusalFacts(answer: Answer, body: JsonObject, call: ToolCall, addresses: Addresses): OxpErrorFacts {
  const { status, retryAfterMs } = answer
  const developerMessage = text(body.developer_message)
  if (status === 422) {
    const parameterErrors = isJsonObject(body.parameter_errors) ? textsIn(body.parameter_errors) : undefined
    return { code: 'INVALID_INPUT', outcome: 'refused', developerMessage, parameterErrors }
  }
  const missing = body.missing_requirements
  if (isJsonObject(missing)) {
    return {
      code: 'MISSING_REQUIREMENTS',
      outcome: 'refused',
      developerMessage,
      challenges: decodeChallenges(missing.authorization, call, addresses),
      missingSecrets: objectsIn(missing.secrets).flatMap(({ id }) => (typeof id === 'string' ? [id] : [])),
      needsUserId: missing.user_id === true,
    }
  }
  const canRetry = retryAfterMs !== undefined && (status === 400 || status === 429)
  const code = status === 401 || status === 403 ? 'UNAUTHORIZED' : 'REFUSED'
  return { code, outcome: 'refused', developerMessage, canRetry, retryAfterMs }
}

/** Throws if an address must not be shown or fetched. */
function decodeChallenges(list: JsonValue | undefined, { toolId }: ToolCall, addresses: Addresses): ChallengeInfo[] {
  return objectsIn(list).flatMap(({ id, url, check_url }) => {
    if (typeof id !== 'string' || typeof url !== 'string') return []
    const checkUrl = typeof check_url === 'string' ? addresses.fetched(check_url) : undefined
    return [{ id, url: addresses.shown(url), toolId, ...(checkUrl !== undefined && { checkUrl }) }]
  })
}

function serverError({ address, status }: Answer, message = `${address} answered ${status}.`): OxpError {
  return new OxpError(message, { code: 'SERVER_ERROR', outcome: 'unknown', status })
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function delay(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.ceil(value) : undefined
}

function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}

function textsIn(object: JsonObject): Record<string, string> {
  const texts = Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(texts)
}
