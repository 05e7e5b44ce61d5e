/** Follows the changes of calls as they happen. */
import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/fault.ts'
import type { CallFilterArgs } from '../../core/filter/call-filter.ts'
import type { JsonObject } from '../../core/json.ts'
import { administer, objectsIn } from '../client/administration.ts'
import type { Remote } from '../client/remote.ts'
import { usageFault } from '../command.ts'
import { type Rest, readPages, SEE_CALLS } from './pages.ts'

/** So many calls are remembered, to show each state of a call once. */
const MOST_KNOWN = 5_000
/** So many calls are read again if changes were missed, and not more often than this. */
const MOST_READ = 1_000
const RESET_MS = 2_000

export interface Follower {
  show(call: JsonObject): void
  /** Changes were missed, and not all calls could be read again. */
  missed(): void
}

export class Following {
  readonly #server: Remote
  readonly #filter: CallFilterArgs
  readonly #shown = new Map<string, string>()
  #cursor: string | undefined
  /** Calls up to this id were left out of the list at the beginning. Ids begin with a time. */
  #leftOut = ''

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

  /** The calls that were listed at the beginning, newest first. */
  listed(calls: readonly JsonObject[], rest: Rest | undefined): void {
    for (const call of calls) this.#know(call)
    if (rest) this.#leftOut = rest.next
  }

  /** Marks a call as shown in its state. */
  #know(call: JsonObject): void {
    const id = String(call.id)
    this.#shown.delete(id)
    this.#shown.set(id, stateOf(call))
    if (this.#shown.size > MOST_KNOWN) this.#shown.delete(this.#shown.keys().next().value as string)
  }

  /** Goes on until the command is interrupted, or the server goes away. */
  async run(follower: Follower): Promise<never> {
    const { show } = follower
    for (;;) {
      const { events, next, reset } = await this.#wait({ ...(this.#cursor !== undefined && { after: this.#cursor }) })
      if (reset === true) {
        await this.#lookAgain(follower)
        await pause(RESET_MS)
      }
      for (const id of new Set(objectsIn(events).map((event) => String(event.id)))) {
        const call = await this.#read(id)
        if (!call || !this.#isWanted(call) || this.#shown.get(id) === stateOf(call)) continue
        this.#know(call)
        show(call)
      }
      this.#cursor = String(next)
    }
  }

  /** Reads the list instead of the changes that were missed. */
  async #lookAgain({ show, missed }: Follower): Promise<void> {
    const found: JsonObject[] = []
    const query = { operation: 'calls.list', filter: this.#filter, limit: MOST_READ, after: undefined } as const
    const rest = await readPages(this.#server, query, (calls) => void found.push(...calls))
    for (const call of found.reverse()) {
      const known = this.#shown.get(String(call.id))
      if (known === stateOf(call) || (known === undefined && String(call.id) < this.#leftOut)) continue
      this.#know(call)
      show(call)
    }
    if (rest && rest.next > this.#leftOut) missed()
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
