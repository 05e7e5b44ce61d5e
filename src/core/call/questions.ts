/**
 * Questions from a handler to its caller, and the answers. A handler that asks ends there. It runs again from its start
 * once the answers have arrived, so that nothing stays in memory while a person thinks.
 */
import { Fault, type FaultRecord } from '../fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import type { Environment } from '../ports/runtime.ts'

/** A form for the person behind the caller. */
export interface FormQuestion {
  kind: 'form'
  message: string
  /** JSON Schema of an object whose members are texts, numbers, booleans or choices. */
  schema: JsonObject
}

/** A prompt for the caller's own language model. */
export interface CompletionQuestion {
  kind: 'completion'
  messages: readonly { role: 'user' | 'assistant'; content: JsonObject }[]
  maxTokens: number
  systemPrompt?: string
  temperature?: number
  stopSequences?: readonly string[]
}

/** Asks in which folders the caller lets the handler work. */
export interface RootsQuestion {
  kind: 'roots'
}

export type Question = FormQuestion | CompletionQuestion | RootsQuestion
export type QuestionKind = Question['kind']
/** Keyed by a name that the handler chooses. The name must be the same each time the handler runs. */
export type Questions = Readonly<Record<string, Question>>

export type FormAnswer = { action: 'accept'; content: JsonObject } | { action: 'decline' | 'cancel' }

export interface CompletionAnswer {
  role: 'user' | 'assistant'
  content: JsonValue
  model: string
  stopReason?: string
}

export interface RootsAnswer {
  roots: readonly { uri: string; name?: string }[]
}

export type AnswerTo<Q extends Question> = Q extends FormQuestion
  ? FormAnswer
  : Q extends CompletionQuestion
    ? CompletionAnswer
    : RootsAnswer

export type Answers = Readonly<Record<string, JsonValue>>

/** The kinds of questions that a caller supports, and its answers so far. */
export interface Asking {
  kinds: readonly QuestionKind[]
  answers: Answers
  /**
   * If set, a recorded call waits for the answers and continues. Otherwise it ends, and the caller sends it again with
   * them.
   */
  waits?: true
  /** The questions that the call waits for. */
  questions?: Questions
}

/** Returns all answers. Throws a fault with the unanswered questions if any answer is missing. */
export function answersTo<Q extends Questions>(
  questions: Q,
  asking: Asking | undefined,
  env: Pick<Environment, 'conforms'>,
  who: string,
): { [K in keyof Q]: AnswerTo<Q[K]> } {
  for (const [key, question] of Object.entries(questions)) checkQuestion(key, question, env)
  const open = unanswered(questions, asking?.answers ?? {}, env)
  if (open) throw inputRequired(who, open)
  const given = asking?.answers ?? {}
  return Object.fromEntries(Object.keys(questions).map((key) => [key, given[key]])) as {
    [K in keyof Q]: AnswerTo<Q[K]>
  }
}

const KINDS: readonly string[] = ['form', 'completion', 'roots'] satisfies readonly QuestionKind[]

/** Reports a mistake in the handler before the caller is asked. */
function checkQuestion(key: string, question: Question, env: Pick<Environment, 'conforms'>): void {
  if (!KINDS.includes(question.kind)) {
    throw new Fault('internal', `The question "${key}" has an unknown kind. Kinds: ${KINDS.join(', ')}.`)
  }
  if (question.kind === 'form') env.conforms(question.schema, {})
}

/** The questions without a valid answer. `undefined` if there are none. */
export function unanswered(
  questions: Questions,
  answers: Answers,
  env: Pick<Environment, 'conforms'>,
): Questions | undefined {
  const open = Object.entries(questions).filter(
    ([key, question]) => !Object.hasOwn(answers, key) || !isAnswer(question, answers[key] as JsonValue, env),
  )
  return open.length > 0 ? Object.fromEntries(open) : undefined
}

export function isAnswer(question: Question, answer: JsonValue, env: Pick<Environment, 'conforms'>): boolean {
  if (!isJsonObject(answer)) return false
  switch (question.kind) {
    case 'form': {
      if (answer.action === 'decline' || answer.action === 'cancel') return true
      return answer.action === 'accept' && isJsonObject(answer.content) && env.conforms(question.schema, answer.content)
    }
    case 'completion':
      return typeof answer.role === 'string' && answer.content !== undefined && typeof answer.model === 'string'
    case 'roots':
      return Array.isArray(answer.roots) && answer.roots.every((root) => isJsonObject(root) && isText(root.uri))
  }
}

const INPUT_REQUIRED = 'INPUT_REQUIRED'

function inputRequired(who: string, questions: Questions): Fault {
  const names = Object.keys(questions).join(', ')
  return new Fault(
    'requirements-missing',
    `${who} needs answers from its caller (${names}). Use a client that supports questions, or call again with the answers.`,
    {
      code: INPUT_REQUIRED,
      details: { authorization: [], secrets: [], userId: false, questions: questions as unknown as JsonObject },
    },
  )
}

/** The questions in this fault. `undefined` if the call ended for another reason. */
export function questionsIn({ kind, code, details }: Fault | FaultRecord): Questions | undefined {
  if (kind !== 'requirements-missing' || code !== INPUT_REQUIRED) return undefined
  return isJsonObject(details?.questions) ? (details.questions as unknown as Questions) : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
