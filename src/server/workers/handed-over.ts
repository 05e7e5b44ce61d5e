/**
 * What calls brought and nobody may write down: it waits here, in memory, for whichever worker runs the call. The words
 * between the two sides are here as well.
 */
import type { Given } from '../../core/requirements.ts'

export interface GivenText {
  tokens: [string, string][]
  secrets: [string, string][]
  userId?: string
}

/** What was forgotten is told to the caller as gone, as it is after a restart. */
const MAX_KEPT = 10_000

export class HandedOver {
  readonly #byId = new Map<string, GivenText>()

  put(id: string, given: GivenText): void {
    this.#byId.set(id, given)
    if (this.#byId.size > MAX_KEPT) this.#byId.delete(this.#byId.keys().next().value as string)
  }

  get(id: string): GivenText | undefined {
    return this.#byId.get(id)
  }

  remove(id: string): void {
    this.#byId.delete(id)
  }
}

export function encodeGiven({ tokens, secrets, userId }: Given): GivenText {
  return { tokens: [...tokens], secrets: [...secrets], ...(userId !== undefined && { userId }) }
}

export function decodeGiven({ tokens, secrets, ...rest }: GivenText): Given {
  return { tokens: new Map(tokens), secrets: new Map(secrets), ...rest }
}
