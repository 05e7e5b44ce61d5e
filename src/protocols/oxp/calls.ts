/** `POST /tools/call`, and in which order a call is checked. */

import { ANONYMOUS, type Caller } from '../../core/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { bareType } from '../../core/media.ts'
import { compareVersions } from '../../core/names.ts'
import type { Operation } from '../../core/operation.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Authorizations, Identify } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Reply } from '../../core/reply.ts'
import type { Engine } from '../../engine/engine.ts'
import type { FollowUp } from '../../engine/follow/follow-up.ts'
import type { CallOptions } from '../../engine/record/recorder.ts'
import type { Tools } from '../../engine/tools.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import { answer } from './answers.ts'
import { decodeCall, encodeReply, type Locate, marked } from './codec.ts'
import { checkVersionHeader, dialectOf, parseRequest, parseToolId } from './envelope.ts'
import { type Asked, Refusals } from './refusals.ts'
import type { CallToolRequest, Dialect } from './wire.ts'

export interface OxpParts {
  engine: Engine
  followUp: FollowUp
  tools: Tools
  env: Environment
  /** Who sent this request. */
  identify: (exchange: Exchange) => Identify
  /** Where a result is that is not in the reply. */
  locate: Locate
  /** Absent where no provider is configured. */
  authorizations?: Pick<Authorizations, 'challenge'>
  settings: OxpSettings
}

export interface OxpSettings {
  maxBodyBytes: number
  /** How long a call is waited for before the client is asked to come back. */
  holdMs: number
  /** Of `/tools/call`. The call page says 400, the authentication page 401. */
  unauthorizedStatus: 400 | 401
}

export class Calls {
  readonly #parts: OxpParts
  readonly #base: 'flat' | 'otc'
  readonly #refusals: Refusals
  #latest = new Map<string, Operation>()
  #latestOf: readonly Operation[] = []

  /** `base` is the dialect of whatever does not say which it is. */
  constructor(parts: OxpParts, base: 'flat' | 'otc') {
    const { env, authorizations, settings } = parts
    this.#parts = parts
    this.#base = base
    this.#refusals = new Refusals({ ...settings, env, ...(authorizations && { authorizations }) })
  }

  /** What the engine runs under a name. */
  #latestUnder(name: string): Operation | undefined {
    const { operations } = this.#parts.engine.registry
    if (this.#latestOf !== operations) {
      this.#latestOf = operations
      this.#latest = latestVersions(operations)
    }
    return this.#latest.get(name)
  }

  /** A promise only where there is something to wait for, here and below. */
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
    // Read before anything is judged, because it says in which dialect to answer.
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

  /** Who calls, the protocol's version, the envelope, the tool and its version, in this order; the engine does the rest. */
  #callAs(caller: Caller | undefined, body: Body, asked: Judged): Answer | Promise<Answer> {
    const { dialect, exchange } = asked
    if (!caller && !this.#parts.engine.registry.operations.some(isPublic)) throw needsCredential()
    if (this.#base === 'flat') checkVersionHeader(exchange.header('oxp-version'))
    if (body.problem !== undefined) throw body.problem
    const request = parseRequest(body.value, dialect)
    asked.request = request
    const operation = this.#resolve(request.toolId, caller)
    asked.operation = operation
    asked.caller = caller ?? ANONYMOUS
    return this.#invoke(exchange, dialect, request, operation, asked.caller)
  }

  /** Whoever shows no credential learns of public tools only: any other is as hidden as one that is not there. */
  #resolve(toolId: string, caller: Caller | undefined): Operation {
    const { tools, env } = this.#parts
    const { id, version } = parseToolId(toolId)
    const operation = tools.byId(id, version, env.clock.now())
    if (!caller && !operation?.public) throw needsCredential()
    if (operation) return operation
    throw new Fault('unknown-operation', `Tool '${id.replace('.', '_')}' was not found`, {
      developerMessage: version === undefined ? `${id} is not available` : `${id} version ${version} is not available`,
    })
  }

  /** Without a version, whichever is the latest when a call is sent again, it is still the same call. */
  #nameOf(operation: Operation, { toolId }: CallToolRequest): string {
    const { full } = operation.name
    return toolId.includes('@') || this.#latestUnder(full) !== operation ? operation.key : full
  }

  #invoke(
    exchange: Exchange,
    dialect: Dialect,
    request: CallToolRequest,
    operation: Operation,
    caller: Caller,
  ): Answer | Promise<Answer> {
    const { engine, env, settings, locate } = this.#parts
    const callId = request.callId ?? env.newId()
    const call = decodeCall(
      request,
      callId,
      operation,
      this.#nameOf(operation, request),
      exchange.header('traceparent'),
    )
    const options: CallOptions = { presence: () => exchange.signal, holdMs: settings.holdMs }
    if (request.callId !== undefined) options.freezes = true
    if (request.context) options.given = request.context
    const startedAt = env.clock.monotonicMs()
    const tell = (reply: Reply): Answer => {
      if (reply.state === 'error' && lacksAuthorization(reply.fault)) throw reply.fault
      const response = encodeReply(reply, callId, env.clock.monotonicMs() - startedAt, {
        // Sent again without the id of this call, a tool with effects would run a second time.
        repeatable: request.callId !== undefined || !operation.sideEffecting,
        locate: (located) => locate(located, exchange.origin),
      })
      return answer(200, dialect === 'flat' ? response : marked(dialect, { result: response }))
    }
    const replying = engine.call(call, () => caller, options)
    if (!(replying instanceof Promise) && hasEnded(replying)) return tell(replying)
    return this.#settled(caller, replying, startedAt + settings.holdMs).then(tell)
  }

  /** An operation may give up waiting sooner than we do, and OXP has no other way to ask for a result. */
  async #settled(caller: Caller, replying: Reply | Promise<Reply>, endsAt: number): Promise<Reply> {
    const { followUp, env } = this.#parts
    const first = await replying
    let reply = first
    for (
      let left = endsAt - env.clock.monotonicMs();
      left > 0 && !hasEnded(reply);
      left = endsAt - env.clock.monotonicMs()
    ) {
      reply = await followUp.poll(caller, first.requestId, left)
    }
    return reply
  }

  async #refuse(thrown: unknown, asked: Asked): Promise<Answer> {
    try {
      return await this.#refusals.word(this.#explain(thrown), asked)
    } catch (another) {
      // A provider that cannot be reached, for one.
      return this.#refusals.plain(this.#explain(another), asked.dialect)
    }
  }

  #explain(thrown: unknown): Fault {
    const fault = Fault.from(thrown)
    if (fault.kind === 'internal') this.#parts.env.log.error({ err: fault.cause ?? fault }, 'a request failed')
    return fault
  }
}

interface Judged extends Asked {
  exchange: Exchange
}

/** What was sent, or why it cannot be read: that is told in its turn. */
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

/** A token that turns out to be no good is refused like one that is missing, unless the next call renews it. */
function lacksAuthorization({ kind, retryable }: Fault): boolean {
  return kind === 'requirements-missing' && !retryable
}

function hasEnded(reply: Reply): boolean {
  return reply.state === 'complete' || reply.state === 'error'
}

function checkType(exchange: Exchange): void {
  if (bareType(exchange.header('content-type') ?? '') === 'application/json') return
  throw new Fault('malformed', 'The request must be application/json. Set its Content-Type.', {
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

function isPublic(operation: Operation): boolean {
  return operation.public
}
