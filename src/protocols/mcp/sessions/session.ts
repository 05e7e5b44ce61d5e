/** MCP on a message connection, such as standard input and output. Requests run concurrently. */

import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import type { JsonValue } from '../../../core/json.ts'
import type { Identify, Presented } from '../../../core/ports/guard.ts'
import type { Connection, OpenSession, Message as ReceivedMessage, Session } from '../../../core/ports/session.ts'
import { within } from '../../../core/within.ts'
import { readText } from '../../../wire/messages/text.ts'
import { parseJsonText } from '../../../wire/strict-json.ts'
import type { Asked } from '../asking/asked.ts'
import type { ClientReply } from '../asking/client-replies.ts'
import { encodeError } from '../faults.ts'
import { checkMeta, generationByBody } from '../generations.ts'
import { type McpParts, Methods } from '../methods.ts'
import { encodeErrorResponse, encodeResult, idIn, type Message, parseMessage } from '../rpc.ts'
import type { RequestId } from '../wire.ts'
import { type ClientSession, readSession } from './sessions.ts'

export interface McpSessionParts extends McpParts {
  /** Identifies the caller. */
  identify: (presented: Presented) => Identify
}

export function createMcpSessions(parts: McpSessionParts): OpenSession {
  return (connection) => new McpSession(parts, connection)
}

/**
 * How long running requests may take after the input has ended. A client that is a pipe still reads the responses.
 * Other clients have disconnected, so the server should exit soon.
 */
const FINISH_MS = 10_000

type Request = Extract<Message, { kind: 'request' }>

class McpSession implements Session {
  readonly #parts: McpSessionParts
  readonly #connection: Connection
  readonly #identify: Identify
  readonly #methods: Methods
  readonly #running = new Map<RequestId, AbortController>()
  readonly #open = new Set<Promise<void>>()
  readonly #leaving = new AbortController()
  /** The session of an older revision, after `initialize`. */
  #session: ClientSession | undefined

  constructor(parts: McpSessionParts, connection: Connection) {
    this.#parts = parts
    this.#connection = connection
    this.#identify = parts.identify(connection.peer)
    this.#methods = new Methods(parts)
  }

  /**
   * Does not wait for a request to end, because its client may first have to answer a question on the same connection.
   */
  receive(received: ReceivedMessage): void | Promise<void> {
    let body: JsonValue | undefined
    try {
      body = parseJsonText(readText(received))
      const message = parseMessage(body)
      if (message.kind === 'request') this.#begin(message)
      else if (message.kind === 'notification') this.#note(message)
      else if (message.reply) this.#hear(this.#takeReply(message.reply))
    } catch (thrown) {
      return this.#answerFault(idIn(body), thrown)
    }
  }

  refuse(fault: Fault): void | Promise<void> {
    return this.#answerFault(null, fault)
  }

  async finish(): Promise<void> {
    // A subscription never ends on its own, and would keep the process running after the client disconnects.
    this.#methods.close()
    await within(this.#parts.env.clock, FINISH_MS, Promise.all(this.#open))
  }

  async close(): Promise<void> {
    this.#leaving.abort()
    this.#methods.close()
    for (const leaving of this.#running.values()) leaving.abort()
    await Promise.all(this.#open)
  }

  /** Starts to send change notifications. */
  #start(sessionId: string, { caller }: Asked): void {
    this.#session = readSession(sessionId, caller, this.#parts.env)
    if (this.#session) void this.#tell(this.#session, caller)
  }

  async #tell(session: ClientSession, caller: Caller | undefined): Promise<void> {
    try {
      const changes = this.#methods.notifications(session, caller, this.#leaving.signal)
      for await (const change of changes) await this.#connection.send(JSON.stringify(change))
    } catch (thrown) {
      this.#parts.env.log.error({ err: thrown }, 'could not send change notifications to the client')
    }
  }

  async #takeReply(reply: ClientReply): Promise<void> {
    await this.#methods.takeReply(await this.#identify(), reply)
  }

  #hear(taking: Promise<void>): void {
    taking.catch((err) => this.#parts.env.log.error({ err }, 'could not process a reply of the client'))
  }

  /** A canceled request gets no response. */
  #note({ method, params }: Extract<Message, { kind: 'notification' }>): void {
    if (method !== 'notifications/cancelled') return
    const { requestId } = params
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#running.get(requestId)?.abort()
  }

  #begin(request: Request): void {
    if (this.#running.has(request.id)) {
      throw new Fault('malformed', 'A request with this id is still running. Use a new id for each request.', {
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
    const send = async (text: string) => {
      if (!signal.aborted) await this.#connection.send(text)
    }
    try {
      const asked = await this.#ask(request, signal)
      if (signal.aborted) return
      const outcome = await this.#methods.find(request.method, asked.generation)(asked)
      if ('result' in outcome) {
        await send(encodeResult(id, outcome.result))
        if (outcome.sessionId !== undefined) this.#start(outcome.sessionId, asked)
        return
      }
      for (;;) {
        const step = await outcome.stream.next()
        if (step.done) return await send(encodeResult(id, step.value))
        await send(JSON.stringify(step.value))
      }
    } catch (thrown) {
      if (!signal.aborted) await this.#answerFault(id, thrown)
    }
  }

  async #ask({ id, method, params }: Request, signal: AbortSignal): Promise<Asked> {
    const { origin } = this.#connection
    const generation = generationByBody(params)
    if (generation === 'stateless') checkMeta(params)
    const caller = await this.#identify()
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

  #answerFault(id: RequestId | null, thrown: unknown): void | Promise<void> {
    const fault = Fault.from(thrown, 'The request failed. The server log has the reason.')
    if (fault.kind === 'internal') this.#parts.env.log.error({ err: fault.cause ?? fault }, 'a request failed')
    return this.#connection.send(encodeErrorResponse(id, encodeError(fault)))
  }
}
