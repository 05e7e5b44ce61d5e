/**
 * A connection for notifications between nodes. Notifications are hints: nothing depends on them, so those that are sent
 * while the connection is away are lost.
 */
import type { Log } from '../../../core/ports/runtime.ts'
import { Connection, type SessionOptions, type Statement, statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { quoteName } from '../sql/migrate.ts'

export interface SideLineParts {
  settings: SessionOptions
  /** A payload arrived on one of the channels. */
  heard(payload: string): void
  log: Log | undefined
}

/**
 * The least time between two notifications, in which hints are collected: each takes a lock of the whole database at its
 * commit. A hint after a pause is sent at once, because a caller waits for it.
 */
const APART_MS = 3
/** In bytes. The server's limit is 8,000. */
const MAX_PAYLOAD = 7_000
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 5_000

/** It need not wait for the disk: a hint that is lost in a crash of the database is no loss. */
const NOTIFY = statement(`SELECT pg_notify(channel, payload), set_config('synchronous_commit', 'off', true)
  FROM unnest($1::text[], $2::text[]) AS u (channel, payload)`)

export class SideLine {
  readonly #parts: SideLineParts
  readonly #connection: Connection
  readonly #channels = new Set<string>()
  /** Settles when the last statement has. The driver takes one at a time. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Lines by channel. */
  #outbox = new Map<string, Set<string>>()
  #timer: NodeJS.Timeout | undefined
  #sending = false
  #sentMs = 0
  #reopening: NodeJS.Timeout | undefined
  #ended = false

  constructor(parts: SideLineParts) {
    this.#parts = parts
    this.#connection = new Connection(parts.settings, () => this.#openLater(FIRST_DELAY_MS))
    this.#connection.onNotice((_channel, payload) => parts.heard(payload))
  }

  async start(): Promise<void> {
    await this.#open()
  }

  /** The address of this machine that reaches the database itself. */
  get localAddress(): string | undefined {
    return this.#connection.localAddress
  }

  async listen(channel: string): Promise<void> {
    this.#channels.add(channel)
    if (this.#connection.isOpen) await this.#listenTo(channel)
  }

  /** Sends a line to all that listen on the channel, soon. Lines to one channel travel together. */
  tell(channel: string, line: string): void {
    const lines = this.#outbox.get(channel)
    if (lines) lines.add(line)
    else this.#outbox.set(channel, new Set([line]))
    this.#flushSoon()
  }

  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    clearTimeout(this.#reopening)
    if (this.#outbox.size > 0) await this.#send()
    await this.#connection.close()
  }

  /** Not at once: the lines of this turn of the event loop travel together. */
  #flushSoon(): void {
    if (this.#timer || this.#sending || this.#outbox.size === 0) return
    const waitMs = this.#sentMs + APART_MS - performance.now()
    if (waitMs > 0) {
      this.#timer = setTimeout(() => void this.#flush(), waitMs).unref()
      return
    }
    this.#sending = true
    setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    this.#timer = undefined
    this.#sending = true
    await this.#send()
    this.#sentMs = performance.now()
    this.#sending = false
    if (!this.#ended) this.#flushSoon()
  }

  async #send(): Promise<void> {
    const outbox = this.#outbox
    this.#outbox = new Map()
    if (!this.#connection.isOpen) return
    const [channels, payloads]: [string[], string[]] = [[], []]
    for (const [channel, lines] of outbox)
      for (const payload of joinLines(lines)) {
        channels.push(channel)
        payloads.push(payload)
      }
    try {
      await this.#query(NOTIFY, [encodeArray('text', channels), encodeArray('text', payloads)])
    } catch (err) {
      this.#parts.log?.debug({ err }, 'could not send hints to other nodes; they look for changes themselves')
    }
  }

  async #open(): Promise<void> {
    await this.#connection.open()
    for (const channel of this.#channels) await this.#listenTo(channel)
  }

  #listenTo(channel: string): Promise<unknown> {
    return this.#query(statement(`LISTEN ${quoteName(channel)}`))
  }

  #query(what: Statement, values: readonly unknown[] = []): Promise<unknown> {
    const run = () => this.#connection.query(what, values)
    this.#turn = this.#turn.then(run, run)
    return this.#turn
  }

  #openLater(delayMs: number): void {
    if (this.#ended) return
    this.#reopening = setTimeout(() => {
      this.#open().catch(() => {
        this.#connection.destroy()
        this.#openLater(Math.min(MAX_DELAY_MS, delayMs * 2))
      })
    }, delayMs).unref()
  }
}

/** Lines that fit into one notification together. */
export function* joinLines(lines: ReadonlySet<string>): Iterable<string> {
  let payload = ''
  let bytes = 0
  for (const line of lines) {
    const lineBytes = Buffer.byteLength(line) + 1
    if (payload !== '' && bytes + lineBytes > MAX_PAYLOAD) {
      yield payload
      payload = ''
      bytes = 0
    }
    payload += `${payload && '\n'}${line}`
    bytes += lineBytes
  }
  if (payload !== '') yield payload
}
