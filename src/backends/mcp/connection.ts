/** Keeps one MCP server connected. Reconnects after a loss, with growing delays while the attempts fail. */
import type { Tool } from '@modelcontextprotocol/client'
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { CONNECTION_LOST, NO_ANSWER, SESSION_GONE } from './faults.ts'
import { loadLibrary } from './library.ts'
import type { McpParts } from './parts.ts'
import { Session } from './session.ts'
import type { McpSettings } from './settings.ts'

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 60_000
/** A connection that lasted this long counts as a successful start. */
const STEADY_MS = 30_000

export type { Tool }

export class McpConnection {
  readonly #settings: McpSettings
  readonly #parts: McpParts
  readonly #listed: (tools: readonly Tool[]) => void
  readonly #stop = new AbortController()
  /** Includes sessions that are still closing. */
  readonly #sessions = new Set<Session>()
  #session: Session | undefined
  #opening: Promise<Session | undefined> | undefined
  #failure: Fault | undefined
  #failures = 0
  #retryAt = 0
  #cancelRetry: (() => void) | undefined
  #cancelSteady: (() => void) | undefined
  #listing = false
  #listAgain = false

  /** Calls `listed` with the server's tools at the start and whenever they may have changed. */
  constructor(settings: McpSettings, parts: McpParts, listed: (tools: readonly Tool[]) => void) {
    this.#settings = settings
    this.#parts = parts
    this.#listed = listed
  }

  /** Resolves after the first attempt to connect, successful or not. */
  async start(): Promise<void> {
    this.#open()
    await this.#opening
  }

  async call(tool: string, args: unknown, context: BackendContext): Promise<JsonValue> {
    const session = await this.#ready(context.signal)
    try {
      return await session.call(tool, args, context)
    } catch (thrown) {
      if (!(thrown instanceof Fault) || context.signal.aborted) throw thrown
      if (thrown.code === SESSION_GONE) {
        // The server did not accept the call, so a repeat runs nothing twice.
        this.#replace(session)
        return (await this.#ready(context.signal)).call(tool, args, context)
      }
      if (thrown.code === NO_ANSWER || thrown.code === CONNECTION_LOST) this.#replace(session)
      throw thrown
    }
  }

  /** Asks the server to end and waits until it has. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelRetry?.()
    this.#cancelSteady?.()
    await this.#opening
    await Promise.all([...this.#sessions].map((session) => session.close()))
  }

  async #ready(signal: AbortSignal): Promise<Session> {
    const session = this.#session ?? (await unlessAborted(this.#opening, signal))
    if (session) return session
    const { message = 'The connection is closing.', ...failure } = this.#failure?.toRecord() ?? {}
    const retryAfterMs = Math.max(1, this.#retryAt - this.#parts.clock.monotonicMs())
    throw new Fault('upstream', `The MCP server is not connected. ${message}`, {
      code: 'NOT_CONNECTED',
      retryAfterMs,
      ...('details' in failure && failure.details && { details: failure.details }),
    })
  }

  #open(): void {
    this.#cancelRetry = undefined
    this.#opening = this.#connect()
  }

  async #connect(): Promise<Session | undefined> {
    let session: Session | undefined
    try {
      const library = await loadLibrary()
      session = new Session(this.#settings, this.#parts, library, {
        lost: (gone) => this.#replace(gone),
        changed: (current) => void this.#list(current),
        closed: (gone) => this.#sessions.delete(gone),
      })
      this.#sessions.add(session)
      await session.open(this.#stop.signal)
      this.#listed(await session.listTools())
      if (this.#stop.signal.aborted) return session
      this.#session = session
      this.#opening = undefined
      this.#failure = undefined
      this.#cancelSteady = this.#parts.clock.schedule(STEADY_MS, () => {
        this.#failures = 0
      })
      return session
    } catch (thrown) {
      void session?.close()
      this.#opening = undefined
      if (!this.#stop.signal.aborted) this.#retry(Fault.from(thrown), session?.said)
      return undefined
    }
  }

  #retry(why: Fault, said: string | undefined): void {
    this.#failure = why
    this.#failures++
    const delayMs = this.#delay()
    this.#tell(why, said, delayMs)
    this.#reopenIn(delayMs)
  }

  #tell(why: Fault, said: string | undefined, retryInMs: number): void {
    const { log } = this.#parts
    if (why.kind === 'secret-missing') {
      // The stack trace would not help the operator, so only the message is logged.
      log.warn({ problem: why.message, retryInMs }, 'could not connect to an MCP server: a secret is missing')
      return
    }
    log.warn(
      { err: why.kind === 'internal' ? (why.cause ?? why) : why, retryInMs, ...(said && { stderr: said }) },
      'could not connect to an MCP server; trying again',
    )
  }

  /** The first retry has no delay. */
  #delay(): number {
    return this.#failures === 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#failures - 1))
  }

  #reopenIn(delayMs: number): void {
    this.#retryAt = this.#parts.clock.monotonicMs() + delayMs
    if (delayMs === 0) this.#open()
    else this.#cancelRetry = this.#parts.clock.schedule(delayMs, () => this.#open())
  }

  /** Its tools stay listed while the connection is replaced. */
  #replace(session: Session): void {
    if (this.#session !== session || this.#stop.signal.aborted) return
    this.#session = undefined
    this.#cancelSteady?.()
    session.retire()
    const delayMs = this.#delay()
    this.#parts.log.warn({ retryInMs: delayMs }, 'lost the connection to an MCP server; reconnecting')
    this.#failures++
    this.#reopenIn(delayMs)
  }

  async #list(session: Session): Promise<void> {
    if (this.#listing) {
      this.#listAgain = true
      return
    }
    this.#listing = true
    try {
      do {
        this.#listAgain = false
        const tools = await session.listTools()
        if (this.#session === session) this.#listed(tools)
      } while (this.#listAgain)
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not list the tools of an MCP server')
      this.#replace(session)
    } finally {
      this.#listing = false
    }
  }
}

/** A caller that aborts does not wait for the server to start. */
function unlessAborted<T>(promise: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}
