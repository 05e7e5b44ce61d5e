/** HTTP routes of MCP: one path, and one message per POST. Determines the generation and checks the headers. */

import type { Caller } from '../../core/call/caller.ts'
import { bareType } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import { explain } from '../../wire/explain.ts'
import { EVENT_STREAM_HEADERS } from '../../wire/http/event-stream.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import type { Asked, Client, Outcome } from './asking/asked.ts'
import { HEADERS, METHOD_REFUSED, refusalAnswer } from './calls/answers.ts'
import { checkMeta, generationByHeader } from './generations.ts'
import { checkStandardHeaders } from './headers.ts'
import { type McpParts, type Method, Methods } from './methods.ts'
import { createMetadataRoutes } from './protected-resource.ts'
import { encodePieces, encodeResult, idIn, isRequestId, type Message, parseMessage, Written } from './rpc.ts'
import { encodeEvents, encodeNotifications } from './sessions/events.ts'
import { type ClientSession, readSession } from './sessions/sessions.ts'
import type { Generation, RequestId, RpcMessage } from './wire.ts'

export interface McpHttpParts extends McpParts {
  /** Identifies the caller. */
  identify: (exchange: Exchange) => Identify
  maxBodyBytes: number
  /** Issuers of accepted tokens. Used only if authentication is on. */
  issuers: readonly string[]
}

const PATH = '/mcp'

const ACCEPTED: Answer = { status: 202, headers: {} }

export interface McpRoutes {
  readonly routes: readonly Route[]
  /** Ends subscriptions and open questions, which have no end of their own. */
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
  const { settings, catalog, issuers } = parts
  if (!settings.authenticated) return { routes, close }
  const resource = { issuers, name: settings.serverInfo.title ?? settings.serverInfo.name, path: PATH }
  return { routes: [...routes, ...createMetadataRoutes(resource, catalog, refuse)], close }
}

class McpOverHttp {
  readonly #parts: McpHttpParts
  readonly #methods: Methods
  /** Running requests of sessions, which the client can cancel. */
  readonly #running = new Map<string, AbortController>()

  constructor(parts: McpHttpParts) {
    this.#parts = parts
    this.#methods = new Methods(parts)
  }

  /** This method and those below create a promise only if they have to wait, because most calls end synchronously. */
  post(exchange: Exchange): Answer | Promise<Answer> {
    const posted: Posted = { exchange, body: undefined, generation: 'initialized' }
    try {
      checkType(exchange)
      const text = exchange.text(this.#parts.maxBodyBytes)
      const answering =
        text instanceof Promise ? text.then((read) => this.#take(read, posted)) : this.#take(text, posted)
      return answering instanceof Promise ? answering.catch((thrown) => this.#refuse(thrown, posted)) : answering
    } catch (thrown) {
      return this.#refuse(thrown, posted)
    }
  }

  #take(text: string, posted: Posted): Answer | Promise<Answer> {
    posted.body = parseJsonText(text)
    const message = parseMessage(posted.body)
    const identified = this.#parts.identify(posted.exchange)()
    if (identified instanceof Promise) return identified.then((caller) => this.#dispatch(message, caller, posted))
    return this.#dispatch(message, identified, posted)
  }

  #dispatch(message: Message, caller: Caller | undefined, posted: Posted): Answer | Promise<Answer> {
    const { exchange } = posted
    this.#methods.requireCaller({ caller })
    if (message.kind !== 'request') return this.#note(message, exchange, caller).then(() => ACCEPTED)
    const { id, method, params } = message
    const generation = generationByHeader(exchange.header('mcp-protocol-version'), params)
    posted.generation = generation
    const session = generation === 'initialized' ? this.#session(exchange, method, caller) : undefined
    const handle = this.#methods.find(method, generation)
    const client = new HttpClient(exchange, generation, session)
    const asked: Asked = { id, method, params, generation, caller, client }
    if (generation === 'stateless') {
      checkStandardHeaders((name) => exchange.header(name), method, params)
      checkMeta(params)
    }
    if (session) return this.#handleInSession(asked, handle, client, session)
    const handled = handle(asked)
    return handled instanceof Promise ? handled.then((outcome) => this.#answer(id, outcome)) : this.#answer(id, handled)
  }

  #refuse(thrown: unknown, { body, generation, exchange }: Posted): Answer {
    return refusalAnswer(this.#explain(thrown), idIn(body), generation, exchange)
  }

  /** A client of the older revisions cancels a request by its id. A disconnect does not cancel it. */
  async #handleInSession(asked: Asked, handle: Method, client: HttpClient, session: ClientSession): Promise<Answer> {
    const key = runningKey(session, asked.id)
    const calledOff = new AbortController()
    client.notified = calledOff.signal
    this.#running.set(key, calledOff)
    const over = () => this.#running.delete(key)
    try {
      const outcome = await handle(asked)
      if ('result' in outcome) over()
      return this.#answer(asked.id, 'stream' in outcome ? { stream: followed(outcome.stream, over) } : outcome)
    } catch (thrown) {
      over()
      throw thrown
    }
  }

  async #note(
    message: Exclude<Message, { kind: 'request' }>,
    exchange: Exchange,
    caller: Caller | undefined,
  ): Promise<void> {
    if (message.kind === 'response') {
      if (message.reply) await this.#methods.takeReply(caller, message.reply)
      return
    }
    const { requestId } = message.params
    if (message.method !== 'notifications/cancelled' || !isRequestId(requestId)) return
    const session = this.#session(exchange, message.method, caller)
    if (session) this.#running.get(runningKey(session, requestId))?.abort()
  }

  #answer(id: RequestId, outcome: Outcome): Answer {
    if ('result' in outcome) {
      const { sessionId, result } = outcome
      const headers = sessionId === undefined ? HEADERS : { ...HEADERS, 'Mcp-Session-Id': sessionId }
      if (result instanceof Written) return answerInPieces(encodePieces(id, result), headers)
      return { status: 200, headers, body: encodeResult(id, result) }
    }
    const { env } = this.#parts
    return {
      status: 200,
      headers: EVENT_STREAM_HEADERS,
      body: encodeEvents(id, outcome.stream, env.clock, (thrown) => this.#explain(thrown)),
    }
  }

  /** Streams notifications to a session of the older revisions until it disconnects. */
  async get(exchange: Exchange): Promise<Answer> {
    const id = exchange.header('mcp-session-id')
    if (id === undefined || !wantsEvents(exchange)) return METHOD_REFUSED
    try {
      const identified = this.#parts.identify(exchange)()
      const caller = identified instanceof Promise ? await identified : identified
      const session = this.#session(exchange, 'GET', caller) as ClientSession
      const { env } = this.#parts
      const stream = this.#methods.notifications(session, caller, exchange.signal)
      return { status: 200, headers: EVENT_STREAM_HEADERS, body: encodeNotifications(stream, env.clock) }
    } catch (thrown) {
      return refusalAnswer(this.#explain(thrown), null, 'initialized', exchange)
    }
  }

  /** Throws 404 for an invalid session id or that of another caller, so that the client starts a new session. */
  #session(exchange: Exchange, method: string, caller: Caller | undefined): ClientSession | undefined {
    const id = exchange.header('mcp-session-id')
    if (id === undefined || method === 'initialize') return undefined
    const session = readSession(id, caller, this.#parts.env)
    if (session) return session
    throw new Fault('malformed', 'This session does not exist. Start with initialize.', { code: 'UNKNOWN_SESSION' })
  }

  close(): void {
    this.#methods.close()
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log, 'The request failed. The server log has the reason.')
  }
}

/** The parts of a request that were parsed before it was refused. */
interface Posted {
  readonly exchange: Exchange
  body: JsonValue | undefined
  generation: Generation
}

/** Reads the properties of the exchange only when they are used, because most calls do not need them. */
class HttpClient implements Client {
  readonly #exchange: Exchange
  readonly #generation: Generation
  readonly session: ClientSession | undefined
  /** Aborts when a client of the older revisions cancels the request. */
  notified: AbortSignal | undefined

  constructor(exchange: Exchange, generation: Generation, session: ClientSession | undefined) {
    this.#exchange = exchange
    this.#generation = generation
    this.session = session
  }

  get origin(): string {
    return this.#exchange.origin
  }

  get signal(): AbortSignal {
    const { signal } = this.#exchange
    return this.notified ? AbortSignal.any([signal, this.notified]) : signal
  }

  /** 2026-07-28, "Transport-Specific Cancellation": a disconnect cancels. Older revisions need a notification. */
  get calledOff(): AbortSignal | undefined {
    return this.#generation === 'stateless' ? this.#exchange.signal : this.notified
  }

  get hears(): boolean {
    return wantsEvents(this.#exchange)
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name)
  }
}

function runningKey({ id }: ClientSession, requestId: RequestId): string {
  return `${id} ${JSON.stringify(requestId)}`
}

async function* followed(
  stream: AsyncGenerator<RpcMessage, object>,
  over: () => void,
): AsyncGenerator<RpcMessage, object> {
  try {
    return yield* stream
  } finally {
    over()
  }
}

function wantsEvents(exchange: Exchange): boolean {
  return /\btext\/event-stream\b/i.test(exchange.header('accept') ?? '')
}

function checkType(exchange: Exchange): void {
  if (bareType(exchange.header('content-type') ?? '') === 'application/json') return
  throw new Fault('malformed', 'The request body must be JSON. Set Content-Type to application/json.', {
    code: 'UNSUPPORTED_CONTENT_TYPE',
  })
}

function answerInPieces(pieces: readonly Uint8Array[], headers: Record<string, string>): Answer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return { status: 200, headers: { ...headers, 'Content-Length': String(length) }, body: oneByOne(pieces) }
}

async function* oneByOne(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces
}
