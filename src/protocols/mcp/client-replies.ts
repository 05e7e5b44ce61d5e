/**
 * Requests of ours to a client of the older revisions: they go out among the notifications of a call, and the replies
 * come as messages of their own, with HTTP perhaps to another process than the one that waits.
 */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { ANONYMOUS, type Caller, ownerOf } from '../../core/model.ts'
import type { Environment, Records } from '../../core/ports.ts'
import type { Answers } from '../../core/questions.ts'
import type { Asked } from './asked.ts'
import type { InputRequests, RpcMessage } from './wire.ts'

/** A client's reply to a request of ours. */
export interface ClientReply {
  id: string
  result?: JsonValue
  error?: JsonValue
}

type Needs = Pick<Environment, 'clock' | 'newId' | 'sign'>

/** How long a person may take. */
const ANSWER_MS = 600_000
/** How often it is looked whether a reply has come to another process. */
const LOOK_EVERY_MS = 500

export class ClientReplies {
  readonly #env: Needs
  readonly #records: Records
  readonly #waiting = new Map<string, (reply: ClientReply) => void>()

  constructor(env: Needs, records: Records) {
    this.#env = env
    this.#records = records
  }

  /** Sends all questions at once, and returns with the last answer. */
  async *ask(requests: InputRequests, { caller, client }: Asked): AsyncGenerator<RpcMessage, Answers> {
    const sent = Object.entries(requests).map(([key, request]) => ({ key, id: this.#newId(caller), request }))
    const replies = sent.map(({ id }) => this.#reply(id, client.signal))
    // Whoever leaves has all of them fail, and only one is waited for at a time.
    for (const reply of replies) reply.catch(() => undefined)
    for (const { id, request } of sent) yield { jsonrpc: '2.0', id, ...request } as RpcMessage
    const answers: Record<string, JsonValue> = {}
    for (const [index, { key }] of sent.entries()) answers[key] = resultIn((await replies[index]) as ClientReply)
    return answers
  }

  /** One that nobody has asked for, or that somebody else sends, is let go by. */
  async take(caller: Caller | undefined, reply: ClientReply): Promise<void> {
    if (!this.#isOurs(reply.id, caller)) return
    const waiting = this.#waiting.get(reply.id)
    if (waiting) waiting(reply)
    else await this.#records.add(keyOf(reply.id), JSON.stringify(reply), this.#env.clock.now() + ANSWER_MS)
  }

  #reply(id: string, signal: AbortSignal): Promise<ClientReply> {
    const { clock } = this.#env
    const giveUpAt = clock.now() + ANSWER_MS
    return new Promise<ClientReply>((resolve, reject) => {
      let cancel = () => {}
      const end = () => {
        cancel()
        this.#waiting.delete(id)
        signal.removeEventListener('abort', leave)
      }
      const leave = () => {
        end()
        reject(new Fault('canceled', 'The client left before it answered.'))
      }
      const answered = (reply: ClientReply) => {
        end()
        resolve(reply)
      }
      const look = async () => {
        const text = await this.#records.take(keyOf(id))
        if (text !== undefined) answered(JSON.parse(text) as ClientReply)
        else if (clock.now() >= giveUpAt) {
          end()
          reject(new Fault('timeout', 'Nobody answered in time. Call again to be asked again.'))
        } else if (this.#waiting.has(id)) lookLater()
      }
      const lookLater = () => {
        cancel = clock.schedule(LOOK_EVERY_MS, () => void look().catch(reject))
      }
      this.#waiting.set(id, answered)
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
      else lookLater()
    })
  }

  /** Signed, so that replies are kept only to what was asked. */
  #newId(caller: Caller | undefined): string {
    const id = this.#env.newId()
    return `${id}.${this.#signature(id, caller)}`
  }

  #isOurs(id: string, caller: Caller | undefined): boolean {
    const [stem = '', signature] = id.split('.')
    return signature === this.#signature(stem, caller)
  }

  #signature(id: string, caller: Caller = ANONYMOUS): string {
    return this.#env.sign(JSON.stringify(['mcp-request', caller.tenant, ownerOf(caller), id]))
  }
}

function keyOf(id: string): string {
  return `mcp-reply/${id}`
}

function resultIn({ result, error }: ClientReply): JsonValue {
  if (isJsonObject(result)) return result
  const said = isJsonObject(error) && typeof error.message === 'string' ? `: ${error.message.slice(0, 500)}` : ''
  throw new Fault('forbidden', `The client refused to answer${said}. Do without, or ask the person.`, {
    code: 'NOT_ANSWERED',
  })
}

export function replyIn(message: JsonObject): ClientReply | undefined {
  const { id, result, error } = message
  if (typeof id !== 'string') return undefined
  return { id, ...(result !== undefined && { result }), ...(error !== undefined && { error }) }
}
