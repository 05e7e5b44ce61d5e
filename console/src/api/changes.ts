/**
 * What changes on the server, for every part of the page that wants to know. Browsers open few connections to one
 * server, so one tab waits (Web Locks) and tells the others. Tabs of other callers have another channel.
 */
import { signal } from '@preact/signals'
import type { Server } from './server.ts'
import type { Change, Changes, WhoAmI } from './types.ts'

/** `isReset`: changes may have been missed, so what is shown must be read again. */
export type Listener = (changes: readonly Change[], isReset: boolean) => void

const WAIT_MS = 25_000
const RETRY_MS = 5_000
/** A busy server may say again and again that changes were missed. The lists are not read more often than this. */
const RESET_MS = 2_000

export class ChangeFeed {
  readonly #server: Server
  readonly #listeners = new Set<Listener>()
  #channel: BroadcastChannel | undefined
  #name: string | undefined
  /** Where the next wait begins. Every tab knows it, so that the next one can go on when this one closes. */
  #after: string | undefined
  /** False after a failure: what the page shows may be old. */
  readonly isLive = signal(true)

  constructor(server: Server) {
    this.#server = server
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  start({ caller }: WhoAmI): () => void {
    const stop = new AbortController()
    const name = `callplane.changes ${this.#server.base} ${JSON.stringify([caller.tenant, caller.owner])}`
    if (name !== this.#name) this.#after = undefined
    this.#name = name
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = ({ data }) => this.#tell(data as Changes)
    const lead = () => this.#wait(stop.signal)
    // Without locks (an address that is not secure) every tab waits for itself.
    if (navigator.locks) navigator.locks.request(name, { signal: stop.signal }, lead).catch(() => {})
    else void lead()
    return () => {
      stop.abort()
      this.#channel?.close()
    }
  }

  async #wait(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      try {
        const after = this.#after
        const args = after === undefined ? { waitMs: 0 } : { waitMs: WAIT_MS, after }
        const answer = await this.#server.call('v1:callplane.changes.wait', args, stopped)
        this.isLive.value = true
        // What changed between the reading of the lists and the first cursor is not told.
        const heard: Changes = after === undefined ? { ...answer, reset: true } : answer
        this.#channel?.postMessage(heard)
        this.#tell(heard)
        if (answer.reset) await pause(RESET_MS, stopped)
      } catch {
        if (stopped.aborted) return
        // The server is away, or the caller may not wait. The screens show what they know, and can be refreshed.
        this.isLive.value = false
        await pause(RETRY_MS, stopped)
      }
    }
  }

  #tell({ events, next, reset }: Changes): void {
    this.#after = next
    if (events.length > 0 || reset) for (const listener of this.#listeners) listener(events, reset === true)
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stopped.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
