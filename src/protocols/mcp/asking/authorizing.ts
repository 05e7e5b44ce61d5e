/** Missing authorizations of a call: the client asks its user if it can, otherwise a text tells the model to ask. */
import { Fault } from '../../../core/fault.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { invalidParams } from '../faults.ts'
import type { InputRequests } from '../wire.ts'
import type { Asked } from './asked.ts'

const PREFIX = 'authorization:'

/** Returns a request for each address to open. `undefined` if this server has no provider for the authorization. */
export function authorizationRequests(fault: Fault): InputRequests | undefined {
  const asked = addressesIn(fault).map(({ id, url }) => [
    PREFIX + id,
    {
      method: 'elicitation/create' as const,
      params: { mode: 'url' as const, message: `${fault.message} Open this address to authorize.`, url },
    },
  ])
  return asked.length > 0 ? Object.fromEntries(asked) : undefined
}

/**
 * The client repeats the call with the person's answers. Returns a fault if the person declined, so that they are not
 * asked again.
 */
export function declinedAuthorization({ params }: Asked, { requires }: Operation): Fault | undefined {
  const { inputResponses } = params
  if (inputResponses === undefined) return undefined
  if (!isJsonObject(inputResponses)) throw invalidParams('"inputResponses" must be an object.')
  const declined = requires?.authorization?.find(({ id }) => {
    const answer = inputResponses[PREFIX + id]
    return isJsonObject(answer) && answer.action !== 'accept'
  })
  if (!declined) return undefined
  const { id } = declined
  return new Fault(
    'forbidden',
    `The user did not authorize ${id}, which this call needs. Ask the user before you call again.`,
    {
      code: 'AUTHORIZATION_DECLINED',
    },
  )
}

/** Adds the addresses to the message, so that the model can ask the user to open them. */
export function withAddresses(fault: Fault): Fault {
  const addresses = addressesIn(fault)
  if (addresses.length === 0) return fault
  const lines = addresses.map(({ id, url }) => `Ask the user to open ${url} to authorize ${id}, then call again.`)
  return new Fault(fault.kind, [fault.message, ...lines].join('\n'), fault.toRecord())
}

function addressesIn({ details }: Fault): { id: string; url: string }[] {
  const challenges = details?.authorization
  if (!Array.isArray(challenges)) return []
  return challenges.flatMap((challenge) => {
    if (!isJsonObject(challenge)) return []
    const { id, url } = challenge
    return typeof id === 'string' && typeof url === 'string' ? [{ id, url }] : []
  })
}
