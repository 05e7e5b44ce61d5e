/**
 * Remembers which calls have a caller that waits for the outcome itself. Such an outcome is told at once and kept only
 * as long as the operation says; every other outcome is kept for polling.
 */

import type { Instance } from '../../core/instance.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { RunningCalls } from './running-calls.ts'

export class AwaitedCalls {
  readonly #ids = new Set<string>()
  readonly #running: RunningCalls
  readonly #siblings: Siblings | undefined

  constructor(running: RunningCalls, siblings: Siblings | undefined) {
    this.#running = running
    this.#siblings = siblings
  }

  /** A caller waits for this outcome directly: it need not be kept for polling. */
  expectDirectly(id: string): void {
    this.#ids.add(id)
  }

  isAwaited(id: string): boolean {
    return this.#ids.has(id)
  }

  /** The call ends; says whether its caller is still waiting. */
  end(id: string): boolean {
    return this.#ids.delete(id)
  }

  /** The caller stopped waiting, so the outcome is kept for polling; false if its end is being written already. */
  keepForPolling(id: string): boolean {
    this.#ids.delete(id)
    return this.#running.get(id)?.concluding !== true
  }

  /**
   * The same, also if another process of this server runs the call. It returns a promise then, and the outcome is kept
   * once that settles. Only a sync call has a caller that waits directly.
   */
  keepAnywhere({ id, model }: Instance): boolean | Promise<boolean> {
    const here = this.keepForPolling(id)
    return this.#siblings && model === 'sync' && !this.#running.get(id) ? this.#siblings.keep(id) : here
  }
}
