/**
 * Requests of the server to clients of the older revisions. They are sent among the notifications of a call. The
 * replies are separate messages, which over HTTP may reach another process than the one that waits.
 */

import type { Caller } from '../../../core/call/caller.ts'
import type { Answers } from '../../../core/call/questions.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'
import { invalidParams } from '../faults.ts'
import type { InputRequests, RpcMessage } from '../wire.ts'
import { type Asked, callerKey } from './asked.ts'

/** A client's reply to a request of the server. */
export interface ClientReply {
  id: string
  result?: JsonValue
  error?: JsonValue
}

interface Waiting {
  owner: string
  answered(reply: ClientReply): void
  giveUp(why: Fault): void
}

type Needs = Pick<Environment, 'clock' | 'newId' | 'sign' | 'isSigned'>

/** How long a person may take to reply: ten minutes. */
const ANSWER_MS = 600_000
/** How often to check the store for a reply that reached another process. */
const LOOK_EVERY_MS = 500
/** Maximum size of a reply that is stored for another process. */
const MAX_KEPT_CHARACTERS = 262_144
/** Maximum number of open questions per caller. */
const MAX_WAITING_PER_CALLER = 100

export class ClientReplies {
  readonly #env: Needs
  readonly #records: Records
  readonly #waiting = new Map<string, Waiting>()
  #closed = false

  constructor(env: Needs, records: Records) {
    this.#env = env
    this.#records = records
  }

  /** Sends all questions at once, and returns when all are answered. */
  async *ask(requests: InputRequests, { caller, client }: Asked): AsyncGenerator<RpcMessage, Answers> {
    const owner = callerKey({ caller })
    this.#requireRoom(owner, Object.keys(requests).length)
    const sent = Object.entries(requests).map(([key, request]) => ({ key, id: this.#newId(owner), request }))
    const replies = sent.map(({ id }) => this.#reply(id, owner, client.signal))
    // If the client disconnects, all promises reject, but only one is awaited at a time.
    for (const reply of replies) reply.catch(() => undefined)
    for (const { id, request } of sent) yield { jsonrpc: '2.0', id, ...request } as RpcMessage
    const answers: Record<string, JsonValue> = {}
    for (const [index, { key }] of sent.entries()) answers[key] = resultIn((await replies[index]) as ClientReply)
    return answers
  }

  /** Ignores a reply that was not asked for, or that comes from another caller. */
  async take(caller: Caller | undefined, reply: ClientReply): Promise<void> {
    if (!this.#isOurs(reply.id, callerKey({ caller }))) return
    const waiting = this.#waiting.get(reply.id)
    if (waiting) return waiting.answered(reply)
    const text = JSON.stringify(reply)
    if (text.length > MAX_KEPT_CHARACTERS) throw invalidParams('The reply is too long. Send a shorter one.')
    await this.#records.add(keyOf(reply.id), text, this.#env.clock.now() + ANSWER_MS)
  }

  /** Rejects all open questions. */
  close(): void {
    this.#closed = true
    for (const { giveUp } of [...this.#waiting.values()]) giveUp(closing())
  }

  #requireRoom(owner: string, more: number): void {
    if (this.#closed) throw closing()
    const own = [...this.#waiting.values()].filter((waiting) => waiting.owner === owner).length
    if (own + more <= MAX_WAITING_PER_CALLER) return
    const message = `Your calls already have ${own} open questions. Answer some of them first.`
    throw new Fault('overloaded', message, { code: 'TOO_MANY_QUESTIONS', retryAfterMs: 1_000 })
  }

  #reply(id: string, owner: string, signal: AbortSignal): Promise<ClientReply> {
    const { clock } = this.#env
    const giveUpAt = clock.monotonicMs() + ANSWER_MS
    return new Promise<ClientReply>((resolve, reject) => {
      let cancel = () => {}
      const end = () => {
        cancel()
        this.#waiting.delete(id)
        signal.removeEventListener('abort', leave)
      }
      const giveUp = (why: unknown) => {
        end()
        reject(why)
      }
      const leave = () => giveUp(new Fault('canceled', 'The client disconnected before it replied.'))
      const answered = (reply: ClientReply) => {
        end()
        resolve(reply)
      }
      const look = async () => {
        const text = await this.#records.take(keyOf(id))
        if (text !== undefined) answered(JSON.parse(text) as ClientReply)
        else if (clock.monotonicMs() >= giveUpAt)
          giveUp(new Fault('timeout', 'The question was not answered in time. Call again to get it again.'))
        else if (this.#waiting.has(id)) lookLater()
      }
      const lookLater = () => {
        cancel = clock.schedule(LOOK_EVERY_MS, () => void look().catch(giveUp))
      }
      this.#waiting.set(id, { owner, answered, giveUp })
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      else lookLater()
    })
  }

  /** The id is signed, so that only one reply to each real question is stored. */
  #newId(owner: string): string {
    const id = this.#env.newId()
    return `${id}.${this.#env.sign(signedText(id, owner))}`
  }

  #isOurs(id: string, owner: string): boolean {
    const at = id.indexOf('.')
    return at > 0 && this.#env.isSigned(signedText(id.slice(0, at), owner), id.slice(at + 1))
  }
}

function signedText(id: string, owner: string): string {
  return JSON.stringify(['mcp-request', owner, id])
}

function closing(): Fault {
  return new Fault('unavailable', 'The server is shutting down. Call again in a moment.', { code: 'SHUTTING_DOWN' })
}

function keyOf(id: string): string {
  return `mcp-reply/${id}`
}

function resultIn({ result, error }: ClientReply): JsonValue {
  if (isJsonObject(result)) return result
  const said = isJsonObject(error) && typeof error.message === 'string' ? `: ${error.message.slice(0, 500)}` : ''
  throw new Fault('forbidden', `The client refused to answer${said}. Continue without the answer, or ask the user.`, {
    code: 'NOT_ANSWERED',
  })
}

export function replyIn(message: JsonObject): ClientReply | undefined {
  const { id, result, error } = message
  if (typeof id !== 'string') return undefined
  return { id, ...(result !== undefined && { result }), ...(error !== undefined && { error }) }
}
