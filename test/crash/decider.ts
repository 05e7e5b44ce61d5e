/** A person who polls the pending approvals and approves all of them, also while servers are killed. */
import { setTimeout as pause } from 'node:timers/promises'
import { findAdminToken } from '../../src/server/open/admin-token.ts'
import type { CrashingServer } from './crashing-server.ts'

/** More often than a person would, to put load on the server. */
const LOOK_EVERY_MS = 25

export class Decider {
  readonly #server: CrashingServer
  #stopped = false
  #round = Promise.withResolvers<void>()
  given = 0

  constructor(server: CrashingServer) {
    this.#server = server
  }

  /** Resolves when all currently pending approvals have been handled. */
  get nextRound(): Promise<void> {
    return this.#round.promise
  }

  stop(): void {
    this.#stopped = true
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      await this.#look()
      const { resolve } = this.#round
      this.#round = Promise.withResolvers()
      resolve()
      await pause(LOOK_EVERY_MS)
    }
  }

  async #look(): Promise<void> {
    const url = await this.#server.address
    try {
      const { result } = await this.#ask(url, 'list', { limit: 200 })
      for (const { id } of result?.approvals ?? []) {
        const decided = await this.#ask(url, 'decide', { id, verdict: 'approve' })
        if (decided.state === 'complete') this.given += 1
      }
    } catch (thrown) {
      // The server was killed meanwhile.
      if (!(thrown instanceof TypeError)) throw thrown
    }
  }

  async #ask(url: string, name: string, args: object) {
    const response = await fetch(`${url}/call`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${findAdminToken(this.#server.data)}` },
      body: JSON.stringify({ op: `v1:callplane.approvals.${name}`, args }),
    })
    return (await response.json()) as { state: string; result?: { approvals: { id: string }[] } }
  }
}
