/** What an operation needs of the person it acts for, and what a call brings of it. */
import { Fault } from './fault.ts'
import type { Caller } from './model.ts'
import type { Operation } from './operation.ts'
import type { Authorizations } from './ports.ts'

export interface Requirements {
  /** Providers at which the person must have authorized us. */
  authorization?: readonly AuthorizationNeed[]
  /** Ids of secrets the call must bring. */
  secrets?: readonly string[]
  /** The call must say for whom it acts. */
  userId?: boolean
}

export interface AuthorizationNeed {
  id: string
  scopes?: readonly string[]
}

/** What a caller hands over for one call: kept in memory while it runs, and nowhere else. */
export interface Given {
  tokens: ReadonlyMap<string, string>
  secrets: ReadonlyMap<string, string>
  userId?: string
}

/** The caller, acting for whom the call says it acts. */
export function personOf(caller: Caller, { userId }: Given): Caller {
  return userId === undefined ? caller : { ...caller, userId }
}

export const NOTHING_GIVEN: Given = { tokens: new Map(), secrets: new Map() }

export async function checkRequirements(
  operation: Operation,
  caller: Caller,
  given: Given,
  authorizations: Authorizations | undefined,
): Promise<void> {
  const { authorization: needed = [], secrets = [], userId = false } = operation.requires ?? {}
  const authorization: string[] = []
  for (const { id, scopes = [] } of needed) {
    if (!given.tokens.has(id) && (await authorizations?.token(caller, id, scopes)) === undefined) authorization.push(id)
  }
  const missingSecrets = secrets.filter((id) => !given.secrets.has(id))
  const missingUser = userId && caller.userId === undefined
  if (authorization.length + missingSecrets.length === 0 && !missingUser) return
  throw new Fault(
    'requirements-missing',
    `${operation.name.full} ${advice(authorization, missingSecrets, missingUser)}`,
    {
      details: { authorization, secrets: missingSecrets, userId: missingUser },
    },
  )
}

/** What the person has yet to authorize, as a `requirements-missing` fault of this operation has it. */
export function missingAuthorization(operation: Operation, { details }: Fault): readonly AuthorizationNeed[] {
  const missing = details?.authorization
  if (!Array.isArray(missing)) return []
  return operation.requires?.authorization?.filter(({ id }) => missing.includes(id)) ?? []
}

function advice(authorization: readonly string[], secrets: readonly string[], user: boolean): string {
  const parts = [
    authorization.length > 0 ? `needs your authorization at ${authorization.join(', ')}` : '',
    secrets.length > 0 ? `needs the secret ${secrets.join(', ')}` : '',
    user ? 'needs to know for which user it acts' : '',
  ]
  return `${parts.filter((part) => part !== '').join(', and ')}.`
}
