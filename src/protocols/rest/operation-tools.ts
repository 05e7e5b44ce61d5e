/** Offers the engine's operations as tools: finds the operation by its tool name and calls the engine. */

import type { Call } from '../../core/call/call.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { isKeyed } from '../../core/operation/keyed.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Catalog, Tools } from '../../core/ports/catalog.ts'
import type { Exchange } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { explain } from '../../wire/explain.ts'
import { normalizeTraceparent, parseTraceparent } from '../../wire/traceparent.ts'
import { annotationsOf, encodeFailure, encodePending, encodeTool, encodeValue, notAnObject } from './codec.ts'
import { isResultOnCall } from './faults.ts'
import { encodeLocated, type LocateParts } from './located.ts'
import type { ToolHost } from './routes.ts'
import type { EncodedResult, ToolSummary, ValidateResult, ValidationFailure } from './wire.ts'

export interface OperationToolsParts extends LocateParts {
  calls: Pick<Calls, 'call' | 'admit' | 'count'>
  catalog: Pick<Catalog, 'operations' | 'nextChangeAt'>
  tools: Tools
  env: Environment
  /** Identifies the caller. */
  identify: (exchange: Exchange) => Identify
  /** How long a request waits for its call to end. After that, the response says how to get the outcome. */
  holdMs: number
}

export function createOperationTools(parts: OperationToolsParts): ToolHost<Operation> {
  const { tools, env, catalog } = parts
  const toolCalls = new ToolCalls(parts)
  let kept: { list: readonly ToolSummary[]; validUntil: number; of: readonly Operation[] } | undefined
  return {
    find: (name) => tools.byName(name, env.clock.now()),
    describe: (operation, name) => encodeTool(name, operation),
    list() {
      const now = env.clock.now()
      const of = catalog.operations
      if (kept && kept.of === of && now < kept.validUntil) return kept.list
      const list = tools.list(now).map(({ name, operation }) => ({
        name,
        description: operation.description,
        annotations: annotationsOf(operation),
      }))
      kept = { list, validUntil: catalog.nextChangeAt(now) ?? Number.POSITIVE_INFINITY, of }
      return list
    },
    async validate(operation, args, exchange) {
      await parts.calls.count(parts.identify(exchange))
      return validate(operation, args)
    },
    call: (operation, args, exchange) => toolCalls.call(operation, args, exchange),
  }
}

async function validate(operation: Operation, args: JsonObject): Promise<ValidateResult> {
  try {
    await operation.parseArgs(args)
    return { valid: true }
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind !== 'invalid-input') throw thrown
    const issues = thrown.details?.issues
    const errors = Array.isArray(issues) ? (issues as unknown as ValidationFailure[]) : []
    return { valid: false, errors: errors.length > 0 ? errors : [{ path: '', message: thrown.message }] }
  }
}

const KEY = /^[\x21-\x7e]{1,256}$/

/** The data that every response to one request needs. */
interface Asked {
  operation: Operation
  traceId: string
  exchange: Exchange
  identify: Identify
}

class ToolCalls {
  readonly #parts: OperationToolsParts

  constructor(parts: OperationToolsParts) {
    this.#parts = parts
  }

  /** Creates no promise if the handler returns synchronously. */
  call(operation: Operation, args: JsonValue, exchange: Exchange): EncodedResult | Promise<EncodedResult> {
    const { calls, env, holdMs } = this.#parts
    const call: Call = { operation: operation.key, args, media: [], requestId: env.newId() }
    const traceparent = normalizeTraceparent(exchange.header('traceparent'))
    const traceId = parseTraceparent(traceparent)?.traceId ?? call.requestId
    if (traceparent !== undefined) call.traceparent = traceparent
    const asked: Asked = { operation, traceId, exchange, identify: this.#parts.identify(exchange) }
    try {
      const sentKey = exchange.header('idempotency-key')
      if (!isJsonObject(args) || (sentKey !== undefined && !KEY.test(sentKey))) return this.#refuse(args, asked)
      const key = keyFor(operation, sentKey, call.requestId)
      if (key !== undefined) call.idempotencyKey = key
      const replying = calls.call(call, asked.identify, { client: exchange, holdMs, untilEnd: true })
      if (replying instanceof Promise || replying.state !== 'complete' || !('result' in replying))
        return this.#finish(replying, asked, key)
      return encodeValue(replying.result, traceId)
    } catch (thrown) {
      return this.#failure(this.#explain(thrown), asked)
    }
  }

  /** Checks the caller before it reports a problem with the request. */
  async #refuse(args: JsonValue, asked: Asked): Promise<EncodedResult> {
    try {
      await this.#parts.calls.admit(asked.operation.key, asked.identify)
      if (!isJsonObject(args)) return notAnObject(asked.traceId)
      throw new Fault('malformed', 'Idempotency-Key must be 1 to 256 printable characters without spaces.')
    } catch (thrown) {
      return this.#failure(this.#explain(thrown), asked)
    }
  }

  async #finish(replying: Reply | Promise<Reply>, asked: Asked, key: string | undefined): Promise<EncodedResult> {
    try {
      return await this.#encode(await replying, asked, key)
    } catch (thrown) {
      return this.#failure(this.#explain(thrown), asked)
    }
  }

  async #encode(reply: Reply, asked: Asked, key: string | undefined): Promise<EncodedResult> {
    const { operation, traceId, exchange } = asked
    if (reply.state === 'error') return this.#failure(reply.fault, asked)
    if (reply.state === 'complete') {
      if ('result' in reply) return encodeValue(reply.result, traceId)
      return encodeLocated(reply, exchange.origin, traceId, this.#parts)
    }
    const uri = `${exchange.origin}/ops/${encodeURIComponent(reply.requestId)}`
    return encodePending(reply, traceId, uri, isKeyed(operation) ? key : undefined)
  }

  #failure(fault: Fault, { traceId }: Asked): EncodedResult {
    if (!isResultOnCall(fault)) throw fault
    return encodeFailure(fault, traceId)
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log)
  }
}

/** The specification has no idempotency keys, so each request gets a new one. A client can send its own key. */
function keyFor(operation: Operation, sent: string | undefined, requestId: string): string | undefined {
  return sent ?? (isKeyed(operation) ? requestId : undefined)
}
