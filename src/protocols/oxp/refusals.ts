/** Refusals that say more than a message: which parameters are wrong, and what a person has to do first. */

import type { Caller } from '../../core/caller.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Authorizations } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { missingAuthorization, NOTHING_GIVEN, personOf } from '../../core/requirements.ts'
import { approvalStatusPath } from '../../engine/wait/approval-links.ts'
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

/** In the place of a provider's id, which has no colon in it. */
const APPROVAL = 'callplane:approval'

/** A call, as far as it was understood. */
export interface Asked {
  dialect: Dialect
  /** Asked for its origin only where it is needed. */
  exchange: Pick<Exchange, 'origin'>
  request?: CallToolRequest
  operation?: Operation
  caller?: Caller
}

export interface RefusalParts {
  env: Pick<Environment, 'sign'>
  /** Asks people for what a call lacks; absent where no provider is configured. */
  authorizations?: Pick<Authorizations, 'challenge'>
  /** Of `/tools/call`. The call page says 400, the authentication page 401. */
  unauthorizedStatus: 400 | 401
}

export class Refusals {
  readonly #parts: RefusalParts
  readonly #schemas = new Map<Operation, JsonObject>()

  constructor(parts: RefusalParts) {
    this.#parts = parts
  }

  async word(fault: Fault, asked: Asked): Promise<Answer> {
    const { dialect } = asked
    switch (fault.kind) {
      case 'invalid-input':
        return answer(statusOf(fault), marked(dialect, this.#validationError(fault, asked)))
      case 'requirements-missing':
        return answer(statusOf(fault), marked(dialect, await this.#requirementsError(fault, asked)))
      case 'approval-pending':
        return answer(statusOf(fault), marked(dialect, this.#approvalError(fault, asked)))
      default:
        return this.plain(fault, dialect)
    }
  }

  /** The message and no more. */
  plain(fault: Fault, dialect: Dialect): Answer {
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

  /** OXP knows one thing a client can wait for and then call again: an authorization challenge. So it is one. */
  #approvalError(fault: Fault, { caller, dialect, exchange }: Asked): ServerErrorResponse {
    const body = encodeRefusal(fault)
    const id = fault.details?.approval_id
    if (!caller || typeof id !== 'string') return body
    const url = exchange.origin + approvalStatusPath(this.#parts.env, caller.tenant, id)
    if (dialect === 'otc') return { ...body, message: `${body.message} Whether it is: ${url}` }
    return { ...body, missing_requirements: { authorization: [{ id: APPROVAL, url, check_url: url }] } }
  }

  /** "Tool Authorization Challenges", which OTC has not: there the message says where to go. */
  async #requirementsError(fault: Fault, asked: Asked): Promise<ServerErrorResponse> {
    const missing = fault.details as { authorization: string[]; secrets: string[]; userId: boolean } | undefined
    const { operation, caller, request, dialect, exchange } = asked
    const body = encodeRefusal(fault)
    if (!missing || !operation || !caller) return body
    const needs = missingAuthorization(operation, fault)
    // Without the user it acts for, nobody knows whose authorization to ask for.
    const askable = needs.length > 0 && !missing.userId
    const person = personOf(caller, request?.context ?? NOTHING_GIVEN)
    const challenges = (askable && (await this.#parts.authorizations?.challenge(person, needs, exchange.origin))) || []
    const unasked = needs.filter(({ id }) => !challenges.some((challenge) => challenge.id === id))
    if (unasked.length > 0) {
      body.developer_message = `Send the token for ${unasked.map(({ id }) => id).join(', ')} in "context.authorization".`
    }
    if (dialect === 'otc') {
      return { ...body, message: [body.message, ...challenges.map(({ url }) => `Open ${url}`)].join(' ') }
    }
    const requirements: MissingRequirements = {
      ...(needs.length > 0 && {
        authorization: challenges.map(({ id, url, checkUrl }) => ({ id, url, check_url: checkUrl })),
      }),
      ...(missing.userId && { user_id: true }),
      ...(missing.secrets.length > 0 && { secrets: missing.secrets.map((id) => ({ id })) }),
    }
    return { ...body, missing_requirements: requirements }
  }
}
