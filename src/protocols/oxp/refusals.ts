/** Encodes refusals with more than a message: invalid parameters, missing requirements and pending approvals. */

import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import { answer, refusalAnswer } from './answers.ts'
import { marked } from './codec.ts'
import { encodeRefusal, statusOf } from './faults.ts'
import { inlineSchema } from './inline-schema.ts'
import { parameterErrors } from './parameter-errors.ts'
import type {
  CallToolRequest,
  Dialect,
  MissingRequirements,
  ServerErrorResponse,
  ValidationErrorResponse,
} from './wire.ts'

/** Used instead of a provider's id. Provider ids contain no colon. */
const APPROVAL = 'callplane:approval'

/** The parts of a request that were parsed before it was refused. */
export interface Asked {
  dialect: Dialect
  /** `origin` is read only when it is needed. */
  exchange: Pick<Exchange, 'origin'>
  request?: CallToolRequest
  operation?: Operation
  caller?: Caller
}

export interface RefusalParts {
  calls: Pick<Calls, 'approvalPath'>
  /** Status for `/tools/call`. The specification's call page has 400, its authentication page 401. */
  unauthorizedStatus: 400 | 401
}

export class Refusals {
  readonly #parts: RefusalParts
  readonly #schemas = new Map<Operation, JsonObject>()

  constructor(parts: RefusalParts) {
    this.#parts = parts
  }

  word(fault: Fault, asked: Asked): Answer {
    const { dialect } = asked
    switch (fault.kind) {
      case 'invalid-input':
        return answer(statusOf(fault), marked(dialect, this.#validationError(fault, asked)))
      case 'requirements-missing':
        return answer(statusOf(fault), marked(dialect, requirementsError(fault, dialect)))
      case 'approval-pending':
        return answer(statusOf(fault), marked(dialect, this.#approvalError(fault, asked)))
      default:
        return this.#plain(fault, dialect)
    }
  }

  /** Encodes only the message. */
  #plain(fault: Fault, dialect: Dialect): Answer {
    const status = fault.kind === 'unauthenticated' ? this.#parts.unauthorizedStatus : statusOf(fault)
    return refusalAnswer(fault, status, dialect)
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

  /** Encodes the approval as an authorization challenge: OXP has no other condition that a client can wait for. */
  #approvalError(fault: Fault, { caller = ANONYMOUS, dialect, exchange }: Asked): ServerErrorResponse {
    const body = encodeRefusal(fault)
    const id = fault.details?.approval_id
    if (typeof id !== 'string') return body
    const url = exchange.origin + this.#parts.calls.approvalPath(caller.tenant, id)
    if (dialect === 'otc') return { ...body, message: `${body.message} Check its status at ${url}` }
    return { ...body, missing_requirements: { authorization: [{ id: APPROVAL, url, check_url: url }] } }
  }
}

/** "Tool Authorization Challenges". OTC has no challenges, so the message contains the URL. */
function requirementsError(fault: Fault, dialect: Dialect): ServerErrorResponse {
  const body = encodeRefusal(fault)
  const { details } = fault
  if (!details) return body
  const authorization = list(details.authorization).filter(isJsonObject)
  const challenges = authorization.flatMap(({ id, url, checkUrl }) =>
    typeof url === 'string' ? [{ id: String(id), url, check_url: String(checkUrl) }] : [],
  )
  const unasked = authorization.filter(({ url }) => url === undefined)
  if (unasked.length > 0) {
    body.developer_message = `Send the token for ${unasked.map(({ id }) => id).join(', ')} in "context.authorization".`
  }
  if (dialect === 'otc') {
    return { ...body, message: [body.message, ...challenges.map(({ url }) => `Open ${url}`)].join(' ') }
  }
  const secrets = list(details.secrets).map((id) => ({ id: String(id) }))
  const requirements: MissingRequirements = {
    ...(authorization.length > 0 && { authorization: challenges }),
    ...(details.userId === true && { user_id: true }),
    ...(secrets.length > 0 && { secrets }),
  }
  return { ...body, missing_requirements: requirements }
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
