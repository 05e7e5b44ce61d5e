/** One connection to a server, from its handshake to its end. Lists the server's tools and calls them. */
import type { CallToolResult, Client, Tool, Transport } from '@modelcontextprotocol/client'
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { tooLarge } from './bounded-body.ts'
import { connectionLost, faultOfClient, redactFault, SESSION_GONE } from './faults.ts'
import { CALL_HEADER, createGuardedFetch } from './guarded-fetch.ts'
import type { Library } from './library.ts'
import type { McpParts, Sending } from './parts.ts'
import { openProcess } from './process.ts'
import { decodeToolResult } from './results.ts'
import type { HttpSettings, McpSettings } from './settings.ts'

/** Time limit of the handshake and of each page of a list. The engine limits the calls. */
const HANDSHAKE_MS = 30_000
const PROBE_MS = 10_000
const NO_LIMIT_MS = 2 ** 31 - 1
const CLIENT = { name: 'callplane', version: '1.0.0' }

export interface SessionEvents {
  /** The session is no longer usable, or no longer reports changes. */
  lost(session: Session): void
  /** The tools have changed. */
  changed(session: Session): void
  /** The session is closed and its resources are released. */
  closed(session: Session): void
}

export class Session {
  readonly #settings: McpSettings
  readonly #parts: McpParts
  readonly #library: Library
  readonly #events: SessionEvents
  readonly #client: Client
  readonly #requests = new Map<string, PendingRequest>()
  #transport: Transport | undefined
  #release: (() => void) | undefined
  #calls = 0
  #streams = 0
  #closing: Promise<void> | undefined
  #retired = false
  #overflow: Fault | undefined
  #said: (() => string) | undefined

  constructor(settings: McpSettings, parts: McpParts, library: Library, events: SessionEvents) {
    this.#settings = settings
    this.#parts = parts
    this.#library = library
    this.#events = events
    this.#client = new library.Client(CLIENT, {
      capabilities: {},
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
      // There is no person to ask.
      inputRequired: { autoFulfill: false },
      // The engine validates results, so a second validation here would only cost time.
      jsonSchemaValidator: {
        getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => events.changed(this) } },
    })
    this.#client.onclose = () => this.#lost()
    this.#client.onerror = (err) => parts.log.debug({ err }, 'the connection to an MCP server reported an error')
  }

  async open(signal: AbortSignal): Promise<void> {
    try {
      this.#transport = await this.#createTransport(signal)
      const stop = () => void this.close()
      signal.throwIfAborted()
      signal.addEventListener('abort', stop, { once: true })
      await this.#client.connect(this.#transport, { timeout: HANDSHAKE_MS })
      signal.removeEventListener('abort', stop)
    } catch (thrown) {
      await this.close()
      throw this.#faultOf(thrown)
    }
    void this.#client.autoOpenedSubscription?.closed.then((how) => how === 'local' || this.#lost())
  }

  async #createTransport(signal: AbortSignal): Promise<Transport> {
    if ('url' in this.#settings) return this.#createHttp(this.#settings)
    const { maxBytes } = this.#settings
    const { transport, said } = await openProcess(this.#settings, this.#parts, this.#library, signal, () => {
      if (this.#closing) return false
      this.#overflow = tooLarge(maxBytes)
      return true
    })
    this.#said = said
    return transport
  }

  #createHttp(settings: HttpSettings): Transport {
    const guarded = createGuardedFetch(settings, this.#parts, {
      sendingOf: (call) => this.#requests.get(call),
      streamLost: () => {
        for (const request of this.#requests.values()) request.giveUpWaiting()
        this.#lost()
      },
      streamOpened: () => {
        // Changes while no stream was open were not reported, so the tools are listed again.
        if (this.#streams++ > 0) this.#events.changed(this)
      },
    })
    this.#release = () => guarded.close()
    return new this.#library.StreamableHTTPClientTransport(new URL(settings.url), {
      fetch: (url, init) => guarded.fetch(url, init),
      onInsufficientScope: 'throw',
      reconnectionOptions: {
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: Number.POSITIVE_INFINITY,
      },
    })
  }

  async listTools(): Promise<readonly Tool[]> {
    if (!this.#client.getServerCapabilities()?.tools) return []
    try {
      const { tools } = await this.#client.listTools(undefined, { timeout: HANDSHAKE_MS, cacheMode: 'refresh' })
      // Every caller can read the tools' descriptions.
      return this.#parts.redact(tools as unknown as JsonValue) as unknown as readonly Tool[]
    } catch (thrown) {
      throw this.#overflow ?? this.#faultOf(thrown)
    }
  }

  async call(tool: string, args: unknown, context: BackendContext): Promise<JsonValue> {
    const { key, signal } = context
    const request = new PendingRequest(context)
    this.#calls++
    this.#requests.set(key, request)
    try {
      const answer = (await this.#send(tool, args, context, request)) as unknown as JsonValue
      return decodeToolResult(this.#parts.redact(answer) as unknown as CallToolResult)
    } catch (thrown) {
      throw this.#explain(thrown, signal, request)
    } finally {
      if (this.#requests.get(key) === request) this.#requests.delete(key)
      this.#calls--
      if (this.#retired && this.#calls === 0) void this.close()
    }
  }

  #send(name: string, args: unknown, context: BackendContext, request: PendingRequest): Promise<CallToolResult> {
    const { key, signal, traceparent } = context
    const trace = traceparent === undefined ? {} : { traceparent }
    const sent = this.#client.callTool(
      { name, arguments: args as Record<string, unknown>, _meta: { 'callplane/request_id': key, ...trace } },
      {
        signal,
        timeout: NO_LIMIT_MS,
        headers: { [CALL_HEADER]: key, ...trace },
        onprogress: ({ progress, total, message }) =>
          context.progress(total !== undefined && total > 0 ? progress / total : 0, message),
      },
    )
    return Promise.race([sent, request.broken])
  }

  #explain(thrown: unknown, signal: AbortSignal, request: PendingRequest): unknown {
    if (signal.aborted) return signal.reason
    if (thrown instanceof Fault) return thrown
    // With several calls in progress, it is not known which response was too large.
    if (this.#overflow && this.#calls === 1) return this.#overflow
    if (this.#sessionIsGone(thrown)) {
      return new Fault('upstream', 'The MCP server has ended the session. Try again.', { code: SESSION_GONE })
    }
    return this.#faultOf(request.why ?? thrown)
  }

  #faultOf(thrown: unknown): Fault {
    return redactFault(faultOfClient(thrown, this.#library), (value) => this.#parts.redact(value))
  }

  /** Streamable HTTP, "Session Management": a 404 to a request with a session id means that a new session is needed. */
  #sessionIsGone(thrown: unknown): boolean {
    return (
      thrown instanceof this.#library.SdkHttpError && thrown.status === 404 && this.#transport?.sessionId !== undefined
    )
  }

  /** The end of a process's standard error, for the log. */
  get said(): string | undefined {
    return this.#said?.() || undefined
  }

  /** Closes the session after the calls in progress have ended. */
  retire(): void {
    this.#retired = true
    if (this.#calls === 0) void this.close()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await this.#client.close()
      // Before the handshake ends, the client does not know the transport.
      await this.#transport?.close()
    } catch (err) {
      this.#parts.log.debug({ err }, 'the connection to an MCP server did not close cleanly')
    } finally {
      this.#release?.()
      this.#events.closed(this)
    }
  }

  #lost(): void {
    if (!this.#closing) this.#events.lost(this)
  }
}

/** A call's request. The client does not notice when the stream for the response ends, so this class does. */
class PendingRequest implements Sending {
  readonly #context: BackendContext
  readonly #broken = Promise.withResolvers<never>()
  #interrupted = false
  why: unknown

  constructor(context: BackendContext) {
    this.#context = context
    this.#broken.promise.catch(() => undefined)
  }

  get broken(): Promise<never> {
    return this.#broken.promise
  }

  get signal(): AbortSignal {
    return this.#context.signal
  }

  credential() {
    return this.#context.credential()
  }

  failed(why: unknown): void {
    this.why ??= why
  }

  ended(resumable: boolean): void {
    this.#interrupted = resumable
    // The last chunk is still being read.
    if (!resumable) setImmediate(() => setImmediate(() => this.#break()))
  }

  /** The rest of the response cannot be fetched either. */
  giveUpWaiting(): void {
    if (this.#interrupted) this.#break()
  }

  #break(): void {
    this.#broken.reject(this.why instanceof Fault ? this.why : connectionLost(this.why))
  }
}
