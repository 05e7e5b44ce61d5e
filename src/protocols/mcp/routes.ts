/** MCP's HTTP binding: one path, one message for each POST, told apart by generation and checked against its headers. */
import type { Answer, Exchange, Refuse, Route } from '../../core/exchange.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { parseJsonText } from '../../core/json-text.ts'
import { bareType } from '../../core/media.ts'
import type { Caller } from '../../core/model.ts'
import type { Identify } from '../../core/ports.ts'
import { HEADERS, METHOD_REFUSED, refusalAnswer } from './answers.ts'
import type { Asked, Client, Outcome } from './asked.ts'
import { encodeEvents, encodeNotifications } from './events.ts'
import { checkMeta, generationByHeader } from './generations.ts'
import { checkStandardHeaders } from './headers.ts'
import { type McpParts, Methods } from './methods.ts'
import { createMetadataRoutes } from './protected-resource.ts'
import { encodeResult, idIn, parseMessage } from './rpc.ts'
import { type ClientSession, readSession } from './sessions.ts'
import type { Generation, RequestId } from './wire.ts'

export interface McpHttpParts extends McpParts {
  /** Who sent this request. */
  identify: (exchange: Exchange) => Identify
  maxBodyBytes: number
  /** Whose tokens are taken, where there is authentication. */
  issuers: readonly string[]
}

const PATH = '/mcp'

const ACCEPTED: Answer = { status: 202, headers: {} }

const EVENTS: Record<string, string> = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

export interface McpRoutes {
  readonly routes: readonly Route[]
  /** Ends what would go on for as long as the client likes. */
  close(): void
}

export function createMcpRoutes(parts: McpHttpParts): McpRoutes {
  const mcp = new McpOverHttp(parts)
  const refuse: Refuse = (exchange, why) => {
    if (why.kind === 'method') return METHOD_REFUSED
    const fault = why.kind === 'fault' ? why.fault : new Fault('not-found', 'There is nothing at this path.')
    return refusalAnswer(fault, null, 'initialized', exchange)
  }
  const methods = { POST: (exchange: Exchange) => mcp.post(exchange), GET: (exchange: Exchange) => mcp.get(exchange) }
  const routes: Route[] = [{ path: PATH, refuse, methods }]
  const close = () => mcp.close()
  const { settings, engine, issuers } = parts
  if (!settings.authenticated) return { routes, close }
  const resource = { issuers, name: settings.serverInfo.title ?? settings.serverInfo.name, path: PATH }
  return { routes: [...routes, ...createMetadataRoutes(resource, engine.registry, refuse)], close }
}

class McpOverHttp {
  readonly #parts: McpHttpParts
  readonly #methods: Methods

  constructor(parts: McpHttpParts) {
    this.#parts = parts
    this.#methods = new Methods(parts)
  }

  async post(exchange: Exchange): Promise<Answer> {
    let body: JsonValue | undefined
    let generation: Generation = 'initialized'
    try {
      checkType(exchange)
      body = parseJsonText(await exchange.text(this.#parts.maxBodyBytes))
      const message = parseMessage(body)
      const identified = this.#parts.identify(exchange)()
      const caller = identified instanceof Promise ? await identified : identified
      this.#methods.requireCaller({ caller })
      if (message.kind === 'response' && message.reply) await this.#methods.takeReply(caller, message.reply)
      if (message.kind !== 'request') return ACCEPTED
      generation = generationByHeader(exchange.header('mcp-protocol-version'), message.params)
      const session = generation === 'initialized' ? this.#session(exchange, message.method, caller) : undefined
      const handle = this.#methods.find(message.method, generation)
      const asked: Asked = { ...message, generation, caller, client: new HttpClient(exchange, session) }
      if (generation === 'stateless') {
        checkStandardHeaders((name) => exchange.header(name), message.method, message.params)
        checkMeta(message.params)
      }
      const handled = handle(asked)
      return this.#answer(message.id, handled instanceof Promise ? await handled : handled)
    } catch (thrown) {
      return refusalAnswer(this.#explain(thrown), idIn(body), generation, exchange)
    }
  }

  #answer(id: RequestId, outcome: Outcome): Answer {
    if ('result' in outcome) {
      const { sessionId, result } = outcome
      const headers = sessionId === undefined ? HEADERS : { ...HEADERS, 'Mcp-Session-Id': sessionId }
      return { status: 200, headers, body: encodeResult(id, result) }
    }
    const { env } = this.#parts
    return {
      status: 200,
      headers: EVENTS,
      body: encodeEvents(id, outcome.stream, env.clock, (thrown) => this.#explain(thrown)),
    }
  }

  /** What there is to tell a session of the older revisions besides answers, for as long as it listens. */
  async get(exchange: Exchange): Promise<Answer> {
    const id = exchange.header('mcp-session-id')
    if (id === undefined || !wantsEvents(exchange)) return METHOD_REFUSED
    try {
      const identified = this.#parts.identify(exchange)()
      const caller = identified instanceof Promise ? await identified : identified
      const session = this.#session(exchange, 'GET', caller) as ClientSession
      const { env } = this.#parts
      const stream = this.#methods.notifications(session, caller, exchange.signal)
      return { status: 200, headers: EVENTS, body: encodeNotifications(stream, env.clock) }
    } catch (thrown) {
      return refusalAnswer(this.#explain(thrown), null, 'initialized', exchange)
    }
  }

  /** One that is none of ours, or somebody else's: 404 has its client begin anew. */
  #session(exchange: Exchange, method: string, caller: Caller | undefined): ClientSession | undefined {
    const id = exchange.header('mcp-session-id')
    if (id === undefined || method === 'initialize') return undefined
    const session = readSession(id, caller, this.#parts.env)
    if (session) return session
    throw new Fault('malformed', 'There is no such session. Begin with initialize.', { code: 'UNKNOWN_SESSION' })
  }

  close(): void {
    this.#methods.close()
  }

  #explain(thrown: unknown): Fault {
    const fault = Fault.from(thrown, 'The request failed; the server log says why.')
    if (fault.kind === 'internal') this.#parts.env.log.error({ err: fault.cause ?? fault }, 'a request failed')
    return fault
  }
}

/** The parts of an exchange that most calls never ask for are made when they are. */
class HttpClient implements Client {
  readonly #exchange: Exchange
  readonly session: ClientSession | undefined

  constructor(exchange: Exchange, session: ClientSession | undefined) {
    this.#exchange = exchange
    this.session = session
  }

  get origin(): string {
    return this.#exchange.origin
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get hears(): boolean {
    return wantsEvents(this.#exchange)
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name)
  }
}

function wantsEvents(exchange: Exchange): boolean {
  return /\btext\/event-stream\b/i.test(exchange.header('accept') ?? '')
}

function checkType(exchange: Exchange): void {
  if (bareType(exchange.header('content-type') ?? '') === 'application/json') return
  throw new Fault('malformed', 'The request must be application/json. Set its Content-Type.', {
    code: 'UNSUPPORTED_CONTENT_TYPE',
  })
}
