/**
 * Answers to the questions of a waiting call. Each answer is stored when it arrives, and the first one for a question
 * counts. The last answer makes the call due. So the answers may arrive at any node and in any order.
 */
import type { Instance } from '../../core/call/instance.ts'
import { type Answers, isAnswer, type Questions } from '../../core/call/questions.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { goOnAnswered } from '../end/transitions.ts'

export class Answering {
  readonly #env: Environment
  readonly #store: Store

  constructor(env: Environment, store: Store) {
    this.#env = env
    this.#store = store
  }

  /** The unanswered questions. `undefined` if there are none. */
  async open(instance: Instance): Promise<Questions | undefined> {
    const { questions } = instance.extras?.asking ?? {}
    if (!questions) return undefined
    const kept = await this.#kept(instance, questions)
    const open = Object.entries(questions).filter(([key]) => !Object.hasOwn(kept, key))
    return open.length > 0 ? Object.fromEntries(open) : undefined
  }

  /** Stores the answers. Ignores invalid answers and answers to other questions. True if the call can continue now. */
  async take(instance: Instance, answers: Answers): Promise<boolean> {
    const { questions } = instance.extras?.asking ?? {}
    if (!questions) return false
    for (const [key, question] of Object.entries(questions)) {
      const answer = Object.hasOwn(answers, key) ? answers[key] : undefined
      if (answer === undefined || !isAnswer(question, answer, this.#env)) continue
      await this.#store.records.add(recordOf(instance, key), JSON.stringify(answer), instance.expiresAt)
    }
    const kept = await this.#kept(instance, questions)
    return Object.keys(kept).length === Object.keys(questions).length && (await this.#goOn(instance, kept))
  }

  async #kept(instance: Instance, questions: Questions): Promise<Answers> {
    const kept: Record<string, Answers[string]> = {}
    for (const key of Object.keys(questions)) {
      const text = await this.#store.records.get(recordOf(instance, key))
      if (text !== undefined) kept[key] = JSON.parse(text)
    }
    return kept
  }

  /**
   * The change applies only to the attempt that asked. Two requests that bring the last answer at once write the same
   * values.
   */
  async #goOn(instance: Instance, more: Answers): Promise<boolean> {
    const { extras } = instance
    const { questions: _answered, ...asking } = { kinds: [], ...extras?.asking }
    const answers = { ...extras?.asking?.answers, ...more }
    const now = this.#env.clock.now()
    const goingOn = goOnAnswered(this.#store, instance, now, { ...extras, asking: { ...asking, answers } })
    return (await goingOn).applied
  }
}

function recordOf({ id, attempt }: Instance, key: string): string {
  return `answers/${id}/${attempt}/${key}`
}
