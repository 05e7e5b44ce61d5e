/** What nodes ask each other by messages that may be lost. */
import { SharedSets } from '../../../core/fairness/shared-sets.ts'
import { Fault } from '../../../core/fault.ts'
import type { Siblings } from '../../../core/ports/peers.ts'
import type { Clock } from '../../../core/ports/runtime.ts'
import { within } from '../../../core/within.ts'
import type { Message } from './messages.ts'

/** An answer takes about 30 ms. A busy node must not be waited for much longer. */
const PATIENCE_MS = 250

export class NodeSiblings implements Siblings {
  readonly #clock: Pick<Clock, 'schedule'>
  readonly #tell: (to: number | 'all', message: Message) => void
  readonly #topics = new Map<string, (about: string) => boolean>()
  readonly #questions = new Map<number, () => void>()
  readonly #sets: SharedSets
  #stop: ((id: string, why: Fault) => void) | undefined
  #asked = 0

  constructor(clock: Pick<Clock, 'schedule'>, tell: (to: number | 'all', message: Message) => void) {
    this.#clock = clock
    this.#tell = tell
    this.#sets = new SharedSets((name, value) => tell('all', ['added', name, value]))
  }

  stop(id: string, why: Fault): void {
    this.#tell('all', ['stop', id, why.toRecord()])
  }

  listen(stop: (id: string, why: Fault) => void): void {
    this.#stop = stop
  }

  anyoneElse(topic: string, here: (about: string) => boolean): (about: string) => Promise<boolean> {
    this.#topics.set(topic, here)
    return (about) => this.#ask(topic, about)
  }

  sharedSet(name: string): Pick<Set<string>, 'add' | 'has'> {
    return this.#sets.share(name)
  }

  receive(from: number, message: Message): void {
    if (message[0] === 'stop') this.#stop?.(message[1], Fault.fromRecord(message[2]))
    else if (message[0] === 'added') this.#sets.added(message[1], message[2])
    else if (message[0] === 'yes') this.#questions.get(message[1])?.()
    else if (message[0] === 'ask' && this.#topics.get(message[2])?.(message[3])) this.#tell(from, ['yes', message[1]])
  }

  async #ask(topic: string, about: string): Promise<boolean> {
    const question = ++this.#asked
    const answer = new Promise<true>((resolve) => this.#questions.set(question, () => resolve(true)))
    this.#tell('all', ['ask', question, topic, about])
    const said = await within(this.#clock, PATIENCE_MS, answer)
    this.#questions.delete(question)
    return said === true
  }
}
