/**
 * Answers to the questions of a call that waits for them. Each answer is kept when it comes, the first one counts, and
 * the last one has the call run again; so it does not matter to which node they come, or in which order.
 */
import type { Instance } from '../../core/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { type Answers, isAnswer, type Questions } from '../../core/questions.ts'
import { goOnAnswered } from '../end/transitions.ts'

export class Answering {
  readonly #env: Environment
  readonly #store: Store

  constructor(env: Environment, store: Store) {
    this.#env = env
    this.#store = store
  }

  /** What is still to be answered; nothing if the call waits for no answer. */
  async open(instance: Instance): Promise<Questions | undefined> {
    const { questions } = instance.extras?.asking ?? {}
    if (!questions) return undefined
    const kept = await this.#kept(instance, questions)
    const open = Object.entries(questions).filter(([key]) => !Object.hasOwn(kept, key))
    return open.length > 0 ? Object.fromEntries(open) : undefined
  }

  /** Answers to other questions, or that are none, are let go by. True if the call can go on now. */
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

  /** Fenced by the attempt that asked: of two who bring the last answer at once, both would write the same. */
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
