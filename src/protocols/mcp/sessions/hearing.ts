/** What a handler says to its caller while it runs, as `notifications/message`, for a client that wants to hear it. */
import type { JsonObject } from '../../../core/json.ts'
import type { Said } from '../../../core/requirements.ts'
import { notification } from '../rpc.ts'
import type { RpcNotification } from '../wire.ts'

/** As RFC 5424 has them, the least important first. */
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type Level = (typeof LEVELS)[number]

/** A handler that never stops talking does not fill the memory. */
const MAX_UNSENT = 1_000

export function levelIn(value: unknown): Level | undefined {
  return LEVELS.find((known) => known === value)
}

export class Hearing {
  readonly #atLeast: number
  readonly #logger: string
  #unsent: RpcNotification[] = []
  #wake: (() => void) | undefined
  #closed = false

  constructor(level: Level, logger: string) {
    this.#atLeast = LEVELS.indexOf(level)
    this.#logger = logger
  }

  /** Given to the call. */
  readonly hear = ({ level, message, data }: Said): void => {
    if (this.#closed || LEVELS.indexOf(level) < this.#atLeast || this.#unsent.length >= MAX_UNSENT) return
    const said: JsonObject = { level, logger: this.#logger, data: data === undefined ? message : { message, data } }
    this.#unsent.push(notification('notifications/message', said))
    this.#wake?.()
  }

  /** Nobody hears any more, though the call may go on. */
  close(): void {
    this.#closed = true
    this.#unsent = []
  }

  take(): RpcNotification[] {
    const taken = this.#unsent
    this.#unsent = []
    return taken
  }

  /** What the stream brings, and between it what is heard, until the stream ends. */
  async *among<T>(stream: AsyncGenerator<RpcNotification, T>): AsyncGenerator<RpcNotification, T> {
    try {
      let next = stream.next()
      for (;;) {
        const step = await Promise.race([next, this.#heard()])
        yield* this.take()
        if (!step) continue
        if (step.done) return step.value
        yield step.value
        next = stream.next()
      }
    } finally {
      this.#wake = undefined
    }
  }

  #heard(): Promise<undefined> {
    if (this.#unsent.length > 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#wake = () => resolve(undefined)
    })
  }
}
