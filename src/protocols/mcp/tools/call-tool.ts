/**
 * An alternative to one tool per operation: the tool `call` takes OpenCALL's request envelope and returns its response
 * envelope. The tool `search` lets a model find operations among thousands without reading all of them.
 */

import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { type Asked, idempotencyKeyOf, type Outcome, textParam } from '../asking/asked.ts'
import type { CallingOff } from '../calls/calling-off.ts'
import { completed, text } from '../codec.ts'
import { encodeFailure, invalidParams } from '../faults.ts'
import { RESULT_URI } from '../located.ts'
import type { CallToolResult, Content, ToolDefinition } from '../wire.ts'
import type { Search } from './search.ts'

/** Runs OpenCALL envelopes. */
export interface Envelopes {
  readonly requestSchema: JsonObject
  readonly responseSchema: JsonObject
  call(
    sent: JsonValue,
    asker: {
      caller: Caller | undefined
      origin: string
      signal: AbortSignal
      holdMs: number
      /** Called with the id of the call once the caller waits for it. */
      waitsFor(requestId: string): void
    },
  ): Promise<{ envelope: object & { requestId: string; state: string }; failed: boolean }>
}

/**
 * Waits before it returns the state of a running call, because each further request costs a model more than the wait.
 */
const HOLD_MS = 10_000
const MAX_FOUND = 50
const FEW = 10

export class CallTool {
  readonly #envelopes: Envelopes
  readonly #search: Search
  readonly #callingOff: CallingOff

  constructor(envelopes: Envelopes, search: Search, callingOff: CallingOff) {
    this.#envelopes = envelopes
    this.#search = search
    this.#callingOff = callingOff
  }

  definitions(): readonly ToolDefinition[] {
    const { requestSchema, responseSchema } = this.#envelopes
    return [
      {
        name: 'call',
        title: 'Call an operation',
        description:
          'Calls an operation of this server; "search" finds operations and their arguments. While the state in the response is accepted or pending, call again with the same op and args, and with the requestId of the response in ctx.requestId. This joins the running call.',
        inputSchema: requestSchema,
        outputSchema: responseSchema,
      },
      {
        name: 'search',
        title: 'Find operations',
        description:
          'Finds operations by words of their name, title and description, with the schema of their arguments.',
        inputSchema: {
          type: 'object',
          properties: {
            query: { type: 'string', description: 'What you want to do, in a few words. Empty: all operations.' },
            limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: FEW },
          },
          required: ['query'],
        },
        outputSchema: {
          type: 'object',
          properties: { operations: { type: 'array', items: { type: 'object' } }, total: { type: 'integer' } },
          required: ['operations', 'total'],
        },
        annotations: { readOnlyHint: true, idempotentHint: true },
      },
    ]
  }

  async call(asked: Asked): Promise<Outcome> {
    const name = textParam(asked, 'name')
    const { arguments: args = {} } = asked.params
    if (!isJsonObject(args)) throw invalidParams('"arguments" must be an object.')
    if (name === 'call') return { result: completed(await this.#call(args, asked), asked.generation) }
    if (name === 'search') return { result: completed(this.#find(args), asked.generation) }
    throw new Fault('unknown-operation', `There is no tool "${name.slice(0, 100)}". Use "call" or "search".`)
  }

  async #call(args: JsonObject, asked: Asked): Promise<CallToolResult> {
    const { caller, client } = asked
    const { envelope, failed } = await this.#envelopes.call(withKey(args, idempotencyKeyOf(asked)), {
      caller,
      origin: client.origin,
      signal: client.signal,
      holdMs: HOLD_MS,
      waitsFor: (requestId) => this.#callingOff.watch(asked, requestId),
    })
    const content: Content[] = [text(JSON.stringify(envelope))]
    if (envelope.state === 'complete' && 'location' in envelope) content.push(linkTo(envelope.requestId))
    return { content, structuredContent: envelope as unknown as JsonObject, ...(failed && { isError: true }) }
  }

  #find({ query, limit = FEW }: JsonObject): CallToolResult {
    const whole = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= MAX_FOUND
    if (typeof query !== 'string' || !whole) {
      const message = `"query" must be a string, and "limit" an integer from 1 to ${MAX_FOUND}.`
      return encodeFailure(new Fault('invalid-input', message))
    }
    const found = this.#search(query, limit)
    return { content: [text(JSON.stringify(found))], structuredContent: found }
  }
}

/** Uses the request's idempotency key if the envelope has none. */
function withKey(args: JsonObject, key: string | undefined): JsonObject {
  const { ctx = {} } = args
  if (key === undefined || !isJsonObject(ctx) || ctx.idempotencyKey !== undefined) return args
  return { ...args, ctx: { ...ctx, idempotencyKey: key } }
}

/** The address in the envelope needs a credential. The client can read this link over MCP. */
function linkTo(requestId: string): Content {
  return { type: 'resource_link', uri: RESULT_URI + encodeURIComponent(requestId), name: 'The result of this call' }
}
