/** Follows the changes of calls as they happen. */

import { Fault } from '../../core/fault.ts'
import type { CallFilterArgs } from '../../core/filter/call-filter.ts'
import type { JsonObject } from '../../core/json.ts'
import { administer, objectsIn } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { usageFault } from '../command.ts'
import { SEE_CALLS } from './pages.ts'

/** So many calls are remembered, to show each state of a call once. */
const MOST_KNOWN = 5_000

export interface Follower {
  show(call: JsonObject): void
  /** Changes may have been missed. */
  missed(): void
}

export class Following {
  readonly #server: Remote
  readonly #filter: CallFilterArgs
  readonly #shown = new Map<string, string>()
  #cursor: string | undefined

  constructor(server: Remote, filter: CallFilterArgs) {
    if (filter.text !== undefined) {
      throw usageFault(
        `--follow cannot search arguments and results. Leave out "${filter.text}", or leave out --follow.`,
      )
    }
    this.#server = server
    this.#filter = filter
  }

  /** Begins here: changes after this are not missed, however long it takes to list the calls before. */
  async begin(): Promise<void> {
    this.#cursor = String((await this.#wait({ waitMs: 0 })).next)
  }

  /** Marks a call as shown in its state. */
  know(call: JsonObject): void {
    const id = String(call.id)
    this.#shown.delete(id)
    this.#shown.set(id, stateOf(call))
    if (this.#shown.size > MOST_KNOWN) this.#shown.delete(this.#shown.keys().next().value as string)
  }

  /** Goes on until the command is interrupted, or the server goes away. */
  async run({ show, missed }: Follower): Promise<never> {
    for (;;) {
      const { events, next, reset } = await this.#wait({ ...(this.#cursor !== undefined && { after: this.#cursor }) })
      if (reset === true) missed()
      for (const id of new Set(objectsIn(events).map((event) => String(event.id)))) {
        const call = await this.#read(id)
        if (!call || !this.#isWanted(call) || this.#shown.get(id) === stateOf(call)) continue
        this.know(call)
        show(call)
      }
      this.#cursor = String(next)
    }
  }

  #wait(more: JsonObject): Promise<JsonObject> {
    return administer(
      this.#server,
      'changes.wait',
      { kinds: ['call'], filter: { ...this.#filter }, ...more },
      SEE_CALLS,
    )
  }

  /** `undefined` if the call is gone already. */
  async #read(id: string): Promise<JsonObject | undefined> {
    try {
      const { call } = await administer(this.#server, 'calls.get', { id }, SEE_CALLS)
      return objectsIn([call ?? null])[0]
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === 'NOT_FOUND') return undefined
      throw thrown
    }
  }

  /** The call may have gone on since the change. */
  #isWanted({ state }: JsonObject): boolean {
    const { state: wanted } = this.#filter
    return wanted === undefined || wanted.some((one) => one === state)
  }
}

function stateOf({ state, held }: JsonObject): string {
  return `${state} ${held === true}`
}
