/**
 * Encodes a handler's questions to its caller as requests, and decodes the answers. The server stores nothing between
 * two rounds: the client sends earlier answers back in the signed `requestState`.
 */

import { ANONYMOUS, ownerOf } from '../../../core/call/caller.ts'
import type { Answers, Asking, Question, QuestionKind, Questions } from '../../../core/call/questions.ts'
import { Fault } from '../../../core/fault.ts'
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { invalidParams } from '../faults.ts'
import type { InputRequest, InputRequests } from '../wire.ts'
import { type Asked, capabilitiesOf, elicits } from './asked.ts'

type Signing = Pick<Environment, 'sign' | 'isSigned' | 'digest' | 'clock'>

/** How long a person may take to answer: one hour. */
const STATE_TTL_MS = 3_600_000
const MAX_ANSWER_CHARACTERS = 262_144

/** Returns `undefined` for a client that supports no questions and sent no answers. */
export function askingOf(asked: Asked, env: Signing): Asking | undefined {
  const { inputResponses, requestState } = asked.params
  const kinds = kindsOf(asked)
  if (kinds.length === 0 && inputResponses === undefined && requestState === undefined) return undefined
  return { kinds, answers: { ...earlierAnswers(asked, env), ...answersIn(inputResponses) } }
}

function kindsOf(asked: Asked): QuestionKind[] {
  const { sampling, roots } = capabilitiesOf(asked)
  const kinds: QuestionKind[] = []
  if (elicits(asked, 'form')) kinds.push('form')
  if (isJsonObject(sampling)) kinds.push('completion')
  if (isJsonObject(roots)) kinds.push('roots')
  return kinds
}

/** Untrusted input: an answer is used only if a handler asked for it. */
function answersIn(inputResponses: JsonValue | undefined): Answers {
  if (inputResponses === undefined) return {}
  if (!isJsonObject(inputResponses)) throw invalidParams('"inputResponses" must be an object.')
  // The answers are stored with the call and sent back in `requestState`.
  if (JSON.stringify(inputResponses).length > MAX_ANSWER_CHARACTERS) {
    throw invalidParams(`"inputResponses" may have at most ${MAX_ANSWER_CHARACTERS} characters.`)
  }
  return inputResponses
}

function earlierAnswers(asked: Asked, env: Signing): Answers {
  const { requestState } = asked.params
  if (requestState === undefined) return {}
  const state = typeof requestState === 'string' ? stateIn(requestState, asked, env) : undefined
  if (state) return state
  throw invalidParams(
    '"requestState" was changed, has expired, or belongs to another request. Send the request without it.',
  )
}

function stateIn(text: string, asked: Asked, env: Signing): Answers | undefined {
  const at = text.lastIndexOf('.')
  const payload = text.slice(0, at)
  if (at < 0 || !env.isSigned(bindingOf(asked, payload, env), text.slice(at + 1))) return undefined
  const { answers, until } = JSON.parse(payload) as { answers: Answers; until: number }
  return until > env.clock.now() ? answers : undefined
}

function encodeState(answers: Answers, asked: Asked, env: Signing): string {
  const payload = JSON.stringify({ answers, until: env.clock.now() + STATE_TTL_MS })
  return `${payload}.${env.sign(bindingOf(asked, payload, env))}`
}

/** Binds the state to this caller and this request. */
function bindingOf({ caller = ANONYMOUS, method, params }: Asked, payload: string, env: Signing): string {
  const { name, arguments: args = {} } = params
  const request = [caller.tenant, ownerOf(caller), caller.userId ?? null, method, name ?? null, args]
  return `mcp-state|${env.digest(canonicalJson(request))}|${payload}`
}

/** Encodes the questions for a client that asks its user and then repeats the request with the answers. */
export function inputRequired(questions: Questions, asked: Asked, env: Signing): object {
  const asking = askingOf(asked, env)
  requireKinds(questions, asking?.kinds ?? [])
  return {
    resultType: 'input_required',
    inputRequests: inputRequestsOf(questions),
    requestState: encodeState(asking?.answers ?? {}, asked, env),
  }
}

export function inputRequestsOf(questions: Questions): InputRequests {
  return Object.fromEntries(Object.entries(questions).map(([key, question]) => [key, encodeQuestion(question)]))
}

function encodeQuestion(question: Question): InputRequest {
  switch (question.kind) {
    case 'form': {
      const { message, schema } = question
      return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } }
    }
    case 'completion': {
      const { kind: _completion, ...params } = question
      return { method: 'sampling/createMessage', params: params as unknown as JsonObject }
    }
    case 'roots':
      return { method: 'roots/list', params: {} }
  }
}

/** The client capability that each kind of question needs. */
const CAPABILITY: Record<QuestionKind, string> = { form: 'elicitation', completion: 'sampling', roots: 'roots' }

function requireKinds(questions: Questions, kinds: readonly QuestionKind[]): void {
  const lacking = Object.values(questions).flatMap(({ kind }) => (kinds.includes(kind) ? [] : [CAPABILITY[kind]]))
  if (lacking.length > 0) throw lacksCapability(Object.fromEntries(lacking.map((name) => [name, {}])))
}

/** The specification's error for a request that needs a missing client capability. */
export function lacksCapability(requiredCapabilities: JsonObject): Fault {
  const names = Object.keys(requiredCapabilities).join(', ')
  return new Fault('malformed', `This request needs a client with these capabilities: ${names}.`, {
    code: 'CAPABILITY_MISSING',
    details: { requiredCapabilities },
  })
}
