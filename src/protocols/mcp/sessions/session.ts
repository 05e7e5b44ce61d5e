/** MCP on a connection of messages, such as standard input and output: any number of requests at once, in any order. */

import type { Caller } from '../../../core/caller.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Identify } from '../../../core/ports/guard.ts'
import { within } from '../../../engine/follow/waiting.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import type { Asked } from '../asking/asked.ts'
import type { ClientReply } from '../asking/client-replies.ts'
import { encodeError } from '../faults.ts'
import { checkMeta, generationByBody } from '../generations.ts'
import { type McpParts, Methods } from '../methods.ts'
import { encodeErrorResponse, encodeResult, idIn, type Message, parseMessage } from '../rpc.ts'
import type { RequestId } from '../wire.ts'
import { type ClientSession, readSession } from './sessions.ts'

export interface McpConnection {
  /** Sends one message. */
  send(text: string): void
  /** Who is at the other end. */
  identify: Identify
  /** Where a person reaches this server, for addresses to open. */
  origin: string
}

export interface McpSession {
  /** One message, as text. */
  receive(text: string): void
  /** A message was too long to be taken. */
  overflow(): void
  /** Nothing more will be asked. Resolves when every request has been answered, or has had its time to be. */
  finished(): Promise<void>
  /** Nobody waits any more: what need not go on stops. */
  close(): Promise<void>
}

export function createMcpSession(parts: McpParts, connection: McpConnection): McpSession {
  return new Session(parts, connection)
}

/**
 * How long what is under way may take once the input has ended. Clients that are pipes still read the answers; the
 * others have left, and a server should not stay for long.
 */
const FINISH_MS = 10_000

type Request = Extract<Message, { kind: 'request' }>

class Session implements McpSession {
  readonly #parts: McpParts
  readonly #connection: McpConnection
  readonly #methods: Methods
  readonly #running = new Map<RequestId, AbortController>()
  readonly #open = new Set<Promise<void>>()
  readonly #leaving = new AbortController()
  /** Of the older revisions, once it has begun. */
  #session: ClientSession | undefined

  constructor(parts: McpParts, connection: McpConnection) {
    this.#parts = parts
    this.#connection = connection
    this.#methods = new Methods(parts)
  }

  receive(text: string): void {
    let body: JsonValue | undefined
    try {
      body = parseJsonText(text)
      const message = parseMessage(body)
      if (message.kind === 'request') this.#begin(message)
      else if (message.kind === 'notification') this.#note(message)
      else if (message.reply) this.#hear(this.#takeReply(message.reply))
    } catch (thrown) {
      this.#refuse(idIn(body), thrown)
    }
  }

  overflow(): void {
    const message = 'The message is longer than this server takes. Send a shorter one.'
    this.#refuse(null, new Fault('malformed', message, { code: 'BODY_TOO_LARGE' }))
  }

  async finished(): Promise<void> {
    // A subscription has no end of its own, and would keep a process whose client is gone.
    this.#methods.close()
    await within(this.#parts.env.clock, FINISH_MS, Promise.all(this.#open))
  }

  async close(): Promise<void> {
    this.#leaving.abort()
    this.#methods.close()
    for (const leaving of this.#running.values()) leaving.abort()
    await Promise.all(this.#open)
  }

  /** From here on it is told what changes. */
  #start(sessionId: string, { caller }: Asked): void {
    this.#session = readSession(sessionId, caller, this.#parts.env)
    if (this.#session) void this.#tell(this.#session, caller)
  }

  async #tell(session: ClientSession, caller: Caller | undefined): Promise<void> {
    try {
      const changes = this.#methods.notifications(session, caller, this.#leaving.signal)
      for await (const change of changes) this.#connection.send(JSON.stringify(change))
    } catch (thrown) {
      this.#parts.env.log.error({ err: thrown }, 'a client could not be told what changed')
    }
  }

  async #takeReply(reply: ClientReply): Promise<void> {
    await this.#methods.takeReply(await this.#connection.identify(), reply)
  }

  #hear(taking: Promise<void>): void {
    taking.catch((err) => this.#parts.env.log.error({ err }, 'a reply of the client could not be taken'))
  }

  /** A request that is called off gets no answer. */
  #note({ method, params }: Extract<Message, { kind: 'notification' }>): void {
    if (method !== 'notifications/cancelled') return
    const { requestId } = params
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#running.get(requestId)?.abort()
  }

  #begin(request: Request): void {
    if (this.#running.has(request.id)) {
      throw new Fault('malformed', 'A request with this id is still running. Use a new id for each.', {
        code: 'INVALID_RPC',
      })
    }
    const leaving = new AbortController()
    this.#running.set(request.id, leaving)
    const handling = this.#handle(request, leaving.signal).finally(() => {
      this.#running.delete(request.id)
      this.#open.delete(handling)
    })
    this.#open.add(handling)
  }

  async #handle(request: Request, signal: AbortSignal): Promise<void> {
    const { id } = request
    const send = (text: string) => {
      if (!signal.aborted) this.#connection.send(text)
    }
    try {
      const asked = await this.#ask(request, signal)
      if (signal.aborted) return
      const outcome = await this.#methods.find(request.method, asked.generation)(asked)
      if ('result' in outcome) {
        send(encodeResult(id, outcome.result))
        if (outcome.sessionId !== undefined) this.#start(outcome.sessionId, asked)
        return
      }
      for (;;) {
        const step = await outcome.stream.next()
        if (step.done) return send(encodeResult(id, step.value))
        send(JSON.stringify(step.value))
      }
    } catch (thrown) {
      if (!signal.aborted) this.#refuse(id, thrown)
    }
  }

  async #ask({ id, method, params }: Request, signal: AbortSignal): Promise<Asked> {
    const { identify, origin } = this.#connection
    const generation = generationByBody(params)
    if (generation === 'stateless') checkMeta(params)
    const caller = await identify()
    this.#methods.requireCaller({ caller })
    return {
      id,
      method,
      params,
      generation,
      caller,
      client: { origin, signal, calledOff: signal, hears: true, session: this.#session },
    }
  }

  #refuse(id: RequestId | null, thrown: unknown): void {
    const fault = Fault.from(thrown, 'The request failed; the log says why.')
    if (fault.kind === 'internal') this.#parts.env.log.error({ err: fault.cause ?? fault }, 'a request failed')
    this.#connection.send(encodeErrorResponse(id, encodeError(fault)))
  }
}
