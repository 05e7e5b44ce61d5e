/** Handles `POST /tools/call`, and defines the order of its checks. */

import type { Caller } from '../../core/call/caller.ts'
import { bareType } from '../../core/call/media.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { compareVersions } from '../../core/operation/names.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { CallOptions, Calls } from '../../core/ports/calls.ts'
import type { Catalog, Tools } from '../../core/ports/catalog.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { explain } from '../../wire/explain.ts'
import { requireCredential, visibleTo } from '../../wire/strangers.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { answer, HEADERS } from './answers.ts'
import { decodeCall, encodeReply, encodeResult, type Locate, marked } from './codec.ts'
import { checkVersionHeader, dialectOf, parseRequest, parseToolId, type ToolReference } from './envelope.ts'
import { type Asked, Refusals } from './refusals.ts'
import type { CallToolRequest, Dialect } from './wire.ts'

export interface OxpParts {
  calls: Pick<Calls, 'call' | 'approvalPath' | 'draining'>
  catalog: Pick<Catalog, 'operations' | 'nextChangeAt' | 'hasPublic'>
  tools: Tools
  env: Environment
  /** Identifies the caller. */
  identify: (exchange: Exchange) => Identify
  /** Returns the address of a result that is not in the reply. */
  locate: Locate
  settings: OxpSettings
}

export interface OxpSettings {
  maxBodyBytes: number
  /** How long a request waits for its call to end before the client has to repeat the request. */
  holdMs: number
  /** Status for `/tools/call`. The specification's call page has 400, its authentication page 401. */
  unauthorizedStatus: 400 | 401
}

export class ToolCalls {
  readonly #parts: OxpParts
  readonly #base: 'flat' | 'otc'
  readonly #refusals: Refusals
  #latest = new Map<string, Operation>()
  #latestOf: readonly Operation[] = []
  #lastToolId = ''
  #lastReference: ToolReference | undefined

  /** `base` is the dialect of requests that do not name one. */
  constructor(parts: OxpParts, base: 'flat' | 'otc') {
    this.#parts = parts
    this.#base = base
    this.#refusals = new Refusals({ calls: parts.calls, unauthorizedStatus: parts.settings.unauthorizedStatus })
  }

  /** Returns the operation that the engine runs for a name without a version. */
  #latestUnder(name: string): Operation | undefined {
    const { operations } = this.#parts.catalog
    if (this.#latestOf !== operations) {
      this.#latestOf = operations
      this.#latest = latestVersions(operations)
    }
    return this.#latest.get(name)
  }

  /** This method and those below create a promise only if they have to wait. */
  call(exchange: Exchange): Answer | Promise<Answer> {
    const read = this.#read(exchange)
    return read instanceof Promise ? read.then((body) => this.#judge(body, exchange)) : this.#judge(read, exchange)
  }

  #read(exchange: Exchange): Body | Promise<Body> {
    try {
      checkType(exchange)
      const text = exchange.text(this.#parts.settings.maxBodyBytes)
      return text instanceof Promise ? text.then(parseBody, unreadable) : parseBody(text)
    } catch (thrown) {
      return unreadable(thrown)
    }
  }

  #judge(body: Body, exchange: Exchange): Answer | Promise<Answer> {
    // The body is read before any check, because it determines the dialect of the response.
    const asked: Judged = { dialect: dialectOf(body.value, this.#base), exchange }
    const refuse = (thrown: unknown) => this.#refuse(thrown, asked)
    try {
      const identified = this.#parts.identify(exchange)()
      const answering =
        identified instanceof Promise
          ? identified.then((caller) => this.#callAs(caller, body, asked))
          : this.#callAs(identified, body, asked)
      return answering instanceof Promise ? answering.catch(refuse) : answering
    } catch (thrown) {
      return refuse(thrown)
    }
  }

  /** Checks the caller, the protocol version, the envelope, the tool and its version, in this order. */
  #callAs(caller: Caller | undefined, body: Body, asked: Judged): Answer | Promise<Answer> {
    const { dialect, exchange } = asked
    requireCredential(caller, this.#parts.catalog, needsCredential)
    if (this.#base === 'flat') checkVersionHeader(exchange.header('oxp-version'))
    if (body.problem !== undefined) throw body.problem
    const request = parseRequest(body.value, dialect)
    asked.request = request
    const operation = this.#resolve(request.toolId, caller)
    asked.operation = operation
    if (caller) asked.caller = caller
    return this.#invoke(exchange, dialect, request, operation, caller)
  }

  #resolve(toolId: string, caller: Caller | undefined): Operation {
    const { tools, env } = this.#parts
    const { id, version } = this.#reference(toolId)
    const operation = visibleTo(caller, tools.byId(id, version, env.clock.now()), needsCredential)
    if (operation) return operation
    throw new Fault('unknown-operation', `Tool '${id.replace('.', '_')}' was not found`, {
      developerMessage: version === undefined ? `${id} is not available` : `${id} version ${version} is not available`,
    })
  }

  /** Caches the last parsed id, because consecutive calls usually name the same tool. */
  #reference(toolId: string): ToolReference {
    if (toolId === this.#lastToolId && this.#lastReference) return this.#lastReference
    const reference = parseToolId(toolId)
    this.#lastToolId = toolId
    this.#lastReference = reference
    return reference
  }

  /** A call without a version uses the plain name, so that it stays the same call when a newer version is added. */
  #nameOf(operation: Operation, { toolId }: CallToolRequest): string {
    const { full } = operation.name
    return toolId.includes('@') || this.#latestUnder(full) !== operation ? operation.key : full
  }

  #invoke(
    exchange: Exchange,
    dialect: Dialect,
    request: CallToolRequest,
    operation: Operation,
    caller: Caller | undefined,
  ): Answer | Promise<Answer> {
    const { calls, env, settings, locate } = this.#parts
    const callId = request.callId ?? env.newId()
    const call = decodeCall(
      request,
      callId,
      operation,
      this.#nameOf(operation, request),
      exchange.header('traceparent'),
    )
    const options: CallOptions = { client: exchange, holdMs: settings.holdMs, untilEnd: true }
    if (request.callId !== undefined) options.freezes = true
    if (request.context) options.given = request.context
    const startedAt = env.clock.monotonicMs()
    const tell = (reply: Reply): Answer => {
      if (reply.state === 'error' && lacksAuthorization(reply.fault)) throw reply.fault
      const durationMs = env.clock.monotonicMs() - startedAt
      if (dialect === 'flat' && reply.state === 'complete' && 'result' in reply) {
        return { status: 200, headers: HEADERS, body: encodeResult(reply, callId, durationMs) }
      }
      const response = encodeReply(reply, callId, durationMs, {
        // Without the call id, a repeated request would run a tool with side effects a second time.
        repeatable: request.callId !== undefined || !operation.sideEffecting,
        locate: (located) => locate(located, exchange.origin),
      })
      return answer(200, dialect === 'flat' ? response : marked(dialect, { result: response }))
    }
    const replying = calls.call(call, () => caller, options)
    return replying instanceof Promise ? replying.then(tell) : tell(replying)
  }

  #refuse(thrown: unknown, asked: Asked): Answer {
    return this.#refusals.word(this.#explain(thrown), asked)
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log)
  }
}

interface Judged extends Asked {
  exchange: Exchange
}

/** The body, or the reason why it cannot be read. Checks that come first may refuse the request before. */
interface Body {
  value: JsonValue
  problem?: unknown
}

function parseBody(text: string): Body {
  try {
    return { value: parseJsonText(text) }
  } catch (thrown) {
    return unreadable(thrown)
  }
}

function unreadable(problem: unknown): Body {
  return { value: null, problem }
}

/** An invalid token is refused like a missing one, except if the next call renews it. */
function lacksAuthorization({ kind, retryable }: Fault): boolean {
  return kind === 'requirements-missing' && !retryable
}

function checkType(exchange: Exchange): void {
  if (bareType(exchange.header('content-type') ?? '') === 'application/json') return
  throw new Fault('malformed', 'The request body must be JSON. Set Content-Type to application/json.', {
    code: 'UNSUPPORTED_CONTENT_TYPE',
  })
}

export function needsCredential(): Fault {
  return new Fault('unauthenticated', 'This server needs authentication. Send a credential.', {
    developerMessage: 'Send "Authorization: Bearer <token>", or a key in OXP-API-Key or OTC-API-Key.',
  })
}

function latestVersions(operations: readonly Operation[]): Map<string, Operation> {
  const latest = new Map<string, Operation>()
  for (const operation of operations) {
    const known = latest.get(operation.name.full)
    if (!known || compareVersions(known.version, operation.version) < 0) latest.set(operation.name.full, operation)
  }
  return latest
}
