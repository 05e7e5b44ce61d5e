/** Sends a handler's log messages as `notifications/message` to clients that want them. */
import type { JsonObject } from '../../../core/json.ts'
import type { Said } from '../../../core/operation/requirements.ts'
import { notification } from '../rpc.ts'
import type { RpcNotification } from '../wire.ts'

/** The levels of RFC 5424, least severe first. */
export const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type Level = (typeof LEVELS)[number]

/** Limits the memory for a handler that logs faster than the client reads. */
const MAX_UNSENT = 1_000

export function levelIn(value: unknown): Level | undefined {
  return LEVELS.find((known) => known === value)
}

/** True if a client that wants messages from `level` on gets messages of level `said`. */
export function includes(level: Level, said: Level): boolean {
  return LEVELS.indexOf(said) >= LEVELS.indexOf(level)
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

  /** Receives the messages of the call's handler. */
  readonly hear = ({ level, message, data }: Said): void => {
    if (this.#closed || LEVELS.indexOf(level) < this.#atLeast || this.#unsent.length >= MAX_UNSENT) return
    const said: JsonObject = { level, logger: this.#logger, data: data === undefined ? message : { message, data } }
    this.#unsent.push(notification('notifications/message', said))
    this.#wake?.()
  }

  /** Drops later messages. The call may still run. */
  close(): void {
    this.#closed = true
    this.#unsent = []
  }

  take(): RpcNotification[] {
    const taken = this.#unsent
    this.#unsent = []
    return taken
  }

  /** Yields the stream's notifications and the log messages between them, until the stream ends. */
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
