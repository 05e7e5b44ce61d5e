/** OXP's and OTC's HTTP binding: which path does what, and in which order a call is checked. */
import type { Engine } from '../../core/engine.ts'
import type { Answer, Exchange, Refusal, Route } from '../../core/exchange.ts'
import { Fault } from '../../core/fault.ts'
import type { FollowUp } from '../../core/follow-up.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { parseJsonText } from '../../core/json-text.ts'
import { bareType } from '../../core/media.ts'
import { ANONYMOUS, type Caller, type Reply } from '../../core/model.ts'
import type { Operation } from '../../core/operation.ts'
import type { Environment, Identify } from '../../core/ports.ts'
import type { CallOptions } from '../../core/recorder.ts'
import type { AuthorizationNeed } from '../../core/requirements.ts'
import type { Tools } from '../../core/tools.ts'
import { decodeCall, encodeReply, type Locate, marked } from './codec.ts'
import { checkVersionHeader, dialectOf, parseRequest, parseToolId } from './envelope.ts'
import { encodeRefusal, statusOf } from './faults.ts'
import { inlineSchema } from './inline-schema.ts'
import { parameterErrors } from './parameter-errors.ts'
import { createToolList, type ToolList } from './tool-list.ts'
import {
  type AuthorizationChallenge,
  type CallToolRequest,
  type Dialect,
  type MissingRequirements,
  OXP_VERSION,
  type ServerErrorResponse,
  type ValidationErrorResponse,
} from './wire.ts'

export interface OxpParts {
  engine: Engine
  followUp: FollowUp
  tools: Tools
  env: Environment
  /** Who sent this request. */
  identify: (exchange: Exchange) => Identify
  /** Where a result is that is not in the reply. */
  locate: Locate
  /** Where a person can give the authorizations a call lacks; absent where no provider is configured. */
  challenge?: Challenge
  settings: OxpSettings
}

export type Challenge = (
  caller: Caller,
  needs: readonly AuthorizationNeed[],
  origin: string,
) => Promise<readonly AuthorizationChallenge[]>

export interface OxpSettings {
  maxBodyBytes: number
  /** How long a call is waited for before the client is asked to come back. */
  holdMs: number
  /** For `/tools/call`. The call page says 400, the authentication page 401. */
  unauthorizedStatus: 400 | 401
}

const HEADERS = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'OXP-Version': OXP_VERSION }
const HEALTHY: Answer = { status: 200, headers: HEADERS, body: '{"status":"ok"}' }
const DRAINING: Answer = { status: 503, headers: HEADERS, body: '{"status":"draining"}' }

export function createOxpRoutes(parts: OxpParts): Route[] {
  const list = createToolList(parts.tools, parts.engine.registry, HEADERS)
  const routesOf = (base: 'flat' | 'otc', prefix: string): Route[] => {
    const oxp = new Oxp(parts, base, list)
    const refuse = (_exchange: Exchange, why: Refusal) => refusal(why, base)
    const health = () => (parts.engine.draining ? DRAINING : HEALTHY)
    return [
      { path: `${prefix}/health`, refuse, methods: { GET: health } },
      { path: `${prefix}/tools`, refuse, methods: { GET: (exchange) => oxp.list(exchange) } },
      { path: `${prefix}/tools/call`, refuse, methods: { POST: (exchange) => oxp.call(exchange) } },
    ]
  }
  return [...routesOf('flat', ''), ...routesOf('otc', '/otc')]
}

/** What no handler of a route has seen. */
function refusal(why: Refusal, dialect: Dialect): Answer {
  switch (why.kind) {
    case 'fault':
      return refusalAnswer(why.fault, statusOf(why.fault), dialect)
    case 'path':
      return answer(404, marked(dialect, { message: 'There is nothing at this path.' }))
    case 'method': {
      const allow = why.allow.join(', ')
      return answer(405, marked(dialect, { message: `This path takes ${allow}.` }), { Allow: allow })
    }
  }
}

function answer(status: number, body: object, extra?: Record<string, string>): Answer {
  return { status, headers: extra ? { ...HEADERS, ...extra } : HEADERS, body: JSON.stringify(body) }
}

function refusalAnswer(fault: Fault, status: number, dialect: Dialect): Answer {
  const body = marked(dialect, encodeRefusal(fault))
  if (status === 401) return answer(status, body, { 'WWW-Authenticate': 'Bearer' })
  const { retryAfterMs } = fault
  return answer(
    status,
    body,
    retryAfterMs === undefined ? undefined : { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) },
  )
}

/** What is known of a call when it is refused. */
interface Asked {
  dialect: Dialect
  request?: CallToolRequest
  operation?: Operation
  caller?: Caller
}

class Oxp {
  readonly #parts: OxpParts
  readonly #base: 'flat' | 'otc'
  readonly #list: ToolList
  readonly #anyPublic: boolean
  readonly #schemas = new Map<Operation, JsonObject>()

  constructor(parts: OxpParts, base: 'flat' | 'otc', list: ToolList) {
    const { registry } = parts.engine
    this.#parts = parts
    this.#base = base
    this.#list = list
    this.#anyPublic = registry.keys.some((key) => registry.byKey(key)?.public)
  }

  async list(exchange: Exchange): Promise<Answer> {
    const { identify, env } = this.#parts
    // The list has no marker of its own: a client that shows a key for OTC speaks OTC.
    const dialect = exchange.header('otc-api-key') === undefined ? this.#base : 'otc'
    try {
      if (!(await identify(exchange)())) throw needsCredential()
      this.#checkHeader(exchange)
      return this.#list.answer(dialect, env.clock.now())
    } catch (thrown) {
      const fault = this.#explain(thrown)
      return refusalAnswer(fault, fault.kind === 'unauthenticated' ? 401 : statusOf(fault), dialect)
    }
  }

  /** Who calls, the protocol's version, the envelope, the tool and its version, in this order; the engine does the rest. */
  async call(exchange: Exchange): Promise<Answer> {
    let body: JsonValue = null
    let unreadable: unknown
    try {
      checkType(exchange)
      body = parseJsonText(await exchange.text(this.#parts.settings.maxBodyBytes))
    } catch (thrown) {
      unreadable = thrown
    }
    // Read before anything is judged, because the dialect of every answer is in it.
    const asked: Asked = { dialect: dialectOf(body, this.#base) }
    try {
      const identified = this.#parts.identify(exchange)()
      const caller = identified instanceof Promise ? await identified : identified
      if (!caller && !this.#anyPublic) throw needsCredential()
      this.#checkHeader(exchange)
      if (unreadable !== undefined) throw unreadable
      asked.request = parseRequest(body, asked.dialect)
      asked.operation = this.#resolve(asked.request.toolId, caller)
      asked.caller = caller ?? ANONYMOUS
      return await this.#invoke(exchange, asked.dialect, asked.request, asked.operation, asked.caller)
    } catch (thrown) {
      return await this.#refuse(exchange, this.#explain(thrown), asked)
    }
  }

  #checkHeader(exchange: Exchange): void {
    if (this.#base === 'flat') checkVersionHeader(exchange.header('oxp-version'))
  }

  /** Whoever shows no credential learns of public tools only: to them any other is as hidden as one there is not. */
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

  async #invoke(
    exchange: Exchange,
    dialect: Dialect,
    request: CallToolRequest,
    operation: Operation,
    caller: Caller,
  ): Promise<Answer> {
    const { engine, env, settings, locate } = this.#parts
    const callId = request.callId ?? env.newId()
    const call = decodeCall(request, callId, operation, exchange.header('traceparent'))
    const options: CallOptions = { presence: () => exchange.signal, holdMs: settings.holdMs }
    if (request.callId !== undefined) options.freezes = true
    if (request.context) options.given = request.context
    const startedAt = env.clock.now()
    const first = await engine.call(call, () => caller, options)
    const reply = hasEnded(first) ? first : await this.#wait(caller, first, startedAt + settings.holdMs)
    // Sent again without the id of this call, a tool with effects would run twice.
    const repeatable = request.callId !== undefined || !operation.sideEffecting
    const response = encodeReply(reply, callId, env.clock.now() - startedAt, {
      repeatable,
      locate: () => locate(reply, exchange.origin),
    })
    return answer(200, dialect === 'flat' ? response : marked(dialect, { result: response }))
  }

  /** An operation may give up waiting sooner than we do: OXP has no other way to ask for a result. */
  async #wait(caller: Caller, first: Reply, endsAt: number): Promise<Reply> {
    const { followUp, env } = this.#parts
    let reply = first
    for (let left = endsAt - env.clock.now(); left > 0 && !hasEnded(reply); left = endsAt - env.clock.now()) {
      reply = await followUp.poll(caller, first.requestId, left)
    }
    return reply
  }

  async #refuse(exchange: Exchange, fault: Fault, asked: Asked): Promise<Answer> {
    const { dialect } = asked
    try {
      if (fault.kind === 'unauthenticated')
        return refusalAnswer(fault, this.#parts.settings.unauthorizedStatus, dialect)
      if (fault.kind === 'invalid-input') return answer(422, marked(dialect, this.#validationError(fault, asked)))
      if (fault.kind === 'requirements-missing') {
        return answer(400, marked(dialect, await this.#requirementsError(exchange, fault, asked)))
      }
      return refusalAnswer(fault, statusOf(fault), dialect)
    } catch (thrown) {
      const other = this.#explain(thrown)
      return refusalAnswer(other, statusOf(other), dialect)
    }
  }

  #validationError(fault: Fault, { operation, request }: Asked): ValidationErrorResponse {
    if (!operation || !request || !fault.details?.issues) return { message: fault.message }
    let schema = this.#schemas.get(operation)
    if (!schema) {
      schema = inlineSchema(operation.schemas.args)
      this.#schemas.set(operation, schema)
    }
    return {
      message: 'Some input parameters are invalid',
      parameter_errors: parameterErrors(fault, request.input, schema),
    }
  }

  /** "Tool Authorization Challenges", which OTC has not: there the message says where to go. */
  async #requirementsError(exchange: Exchange, fault: Fault, asked: Asked): Promise<ServerErrorResponse> {
    const missing = fault.details as { authorization: string[]; secrets: string[]; userId: boolean } | undefined
    const { operation, caller, dialect } = asked
    if (!missing || !operation || !caller) return encodeRefusal(fault)
    const needs = (operation.requires?.authorization ?? []).filter(({ id }) => missing.authorization.includes(id))
    const challenges = needs.length > 0 ? await this.#parts.challenge?.(caller, needs, exchange.origin) : undefined
    const body = { ...encodeRefusal(fault), ...adviceOn(missing.authorization, challenges ?? []) }
    if (dialect === 'otc') {
      return { ...body, message: [body.message, ...(challenges ?? []).map(({ url }) => `Open ${url}`)].join(' ') }
    }
    const requirements: MissingRequirements = {
      ...(missing.authorization.length > 0 && { authorization: challenges ?? [] }),
      ...(missing.userId && { user_id: true }),
      ...(missing.secrets.length > 0 && { secrets: missing.secrets.map((id) => ({ id })) }),
    }
    return { ...body, missing_requirements: requirements }
  }

  #explain(thrown: unknown): Fault {
    const fault = Fault.from(thrown)
    if (fault.kind === 'internal') this.#parts.env.log.error({ err: fault.cause ?? fault }, 'a request failed')
    return fault
  }
}

function hasEnded(reply: Reply): boolean {
  return reply.state === 'complete' || reply.state === 'error'
}

/** For providers that are not configured here, and so have no address. */
function adviceOn(
  ids: readonly string[],
  challenges: readonly AuthorizationChallenge[],
): { developer_message?: string } {
  const without = ids.filter((id) => !challenges.some((challenge) => challenge.id === id))
  if (without.length === 0) return {}
  return { developer_message: `Send the token for ${without.join(', ')} in "context.authorization".` }
}

function checkType(exchange: Exchange): void {
  const type = bareType(exchange.header('content-type') ?? '')
  if (type === 'application/json') return
  throw new Fault('malformed', 'The request must be application/json. Set its Content-Type.', {
    code: 'UNSUPPORTED_CONTENT_TYPE',
  })
}

function needsCredential(): Fault {
  return new Fault('unauthenticated', 'This server needs authentication. Send a credential.', {
    developerMessage: 'Send "Authorization: Bearer <token>", or a key in OXP-API-Key or OTC-API-Key.',
  })
}
