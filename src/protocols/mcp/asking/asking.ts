/**
 * Questions of a handler on the wire: what a client can be asked, the questions as requests, and the answers it sends
 * back. Between two rounds nothing is kept here: what was answered before comes back in `requestState`, signed.
 */

import { ANONYMOUS, ownerOf } from '../../../core/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Answers, Asking, Question, QuestionKind, Questions } from '../../../core/questions.ts'
import { invalidParams } from '../faults.ts'
import type { InputRequest, InputRequests } from '../wire.ts'
import { type Asked, capabilitiesOf, elicits } from './asked.ts'

type Signing = Pick<Environment, 'sign' | 'digest' | 'clock'>

/** How long a person may take to answer. */
const STATE_TTL_MS = 3_600_000
const MAX_ANSWER_CHARACTERS = 262_144

/** Nothing for a client that can be asked nothing and answers nothing. */
export function askingOf(asked: Asked, env: Signing): Asking | undefined {
  const { inputResponses, requestState } = asked.params
  const kinds = kindsOf(asked)
  if (kinds.length === 0 && inputResponses === undefined && requestState === undefined) return undefined
  return { kinds, answers: { ...earlierAnswers(asked, env), ...answersIn(inputResponses) } }
}

function kindsOf(asked: Asked): QuestionKind[] {
  const { sampling, roots } = capabilitiesOf(asked)
  return [
    ...(elicits(asked, 'form') ? (['form'] as const) : []),
    ...(isJsonObject(sampling) ? (['completion'] as const) : []),
    ...(isJsonObject(roots) ? (['roots'] as const) : []),
  ]
}

/** Of the person's own making, so that nothing in them is believed before a handler has asked for it. */
function answersIn(inputResponses: JsonValue | undefined): Answers {
  if (inputResponses === undefined) return {}
  if (!isJsonObject(inputResponses)) throw invalidParams('"inputResponses" must be an object.')
  // They are kept with the call, and come back in the state.
  if (JSON.stringify(inputResponses).length > MAX_ANSWER_CHARACTERS) {
    throw invalidParams(`"inputResponses" may have ${MAX_ANSWER_CHARACTERS} characters at the most.`)
  }
  return inputResponses
}

function earlierAnswers(asked: Asked, env: Signing): Answers {
  const { requestState } = asked.params
  if (requestState === undefined) return {}
  const state = typeof requestState === 'string' ? stateIn(requestState, asked, env) : undefined
  if (state) return state
  throw invalidParams('"requestState" is not as it was given, is too old, or is of another request. Ask anew without.')
}

function stateIn(text: string, asked: Asked, env: Signing): Answers | undefined {
  const at = text.lastIndexOf('.')
  const payload = text.slice(0, at)
  if (at < 0 || text.slice(at + 1) !== env.sign(bindingOf(asked, payload, env))) return undefined
  const { answers, until } = JSON.parse(payload) as { answers: Answers; until: number }
  return until > env.clock.now() ? answers : undefined
}

function encodeState(answers: Answers, asked: Asked, env: Signing): string {
  const payload = JSON.stringify({ answers, until: env.clock.now() + STATE_TTL_MS })
  return `${payload}.${env.sign(bindingOf(asked, payload, env))}`
}

/** Good for this caller and this very request only. */
function bindingOf({ caller = ANONYMOUS, method, params }: Asked, payload: string, env: Signing): string {
  const { name, arguments: args = {} } = params
  const request = [caller.tenant, ownerOf(caller), caller.userId ?? null, method, name ?? null, args]
  return `mcp-state|${env.digest(canonicalJson(request))}|${payload}`
}

/** The questions, for a client that puts them to whomever they are for and sends the same request again. */
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

/** What a client must be able to do to be asked this. */
const CAPABILITY: Record<QuestionKind, string> = { form: 'elicitation', completion: 'sampling', roots: 'roots' }

function requireKinds(questions: Questions, kinds: readonly QuestionKind[]): void {
  const lacking = Object.values(questions).flatMap(({ kind }) => (kinds.includes(kind) ? [] : [CAPABILITY[kind]]))
  if (lacking.length > 0) throw lacksCapability(Object.fromEntries(lacking.map((name) => [name, {}])))
}

/** The revision's own error: the request cannot be served to a client that cannot do this. */
export function lacksCapability(requiredCapabilities: JsonObject): Fault {
  const names = Object.keys(requiredCapabilities).join(', ')
  return new Fault('malformed', `This needs a client that can do more, and says so in its capabilities: ${names}.`, {
    code: 'CAPABILITY_MISSING',
    details: { requiredCapabilities },
  })
}
