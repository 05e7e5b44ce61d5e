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

/** What was forgotten is told to the caller as gone, as it is after a restart: the oldest first. */
const MAX_KEPT = 10_000
/** A token is a few thousand characters at most, and a secret fewer. */
const MAX_CHARACTERS = 32 * 1024 * 1024

export class HandedOver {
  readonly #byId = new Map<string, { given: GivenText; characters: number }>()
  #characters = 0

  put(id: string, given: GivenText): void {
    this.remove(id)
    const characters = charactersIn(given)
    this.#byId.set(id, { given, characters })
    this.#characters += characters
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= MAX_KEPT && this.#characters <= MAX_CHARACTERS) return
      this.remove(oldest)
    }
  }

  get(id: string): GivenText | undefined {
    return this.#byId.get(id)?.given
  }

  remove(id: string): void {
    const kept = this.#byId.get(id)
    if (!kept) return
    this.#byId.delete(id)
    this.#characters -= kept.characters
  }
}

function charactersIn({ tokens, secrets, userId = '' }: GivenText): number {
  return [...tokens, ...secrets].reduce((sum, [id, value]) => sum + id.length + value.length, userId.length)
}

export function encodeGiven({ tokens, secrets, userId }: Given): GivenText {
  return { tokens: [...tokens], secrets: [...secrets], ...(userId !== undefined && { userId }) }
}

export function decodeGiven({ tokens, secrets, ...rest }: GivenText): Given {
  return { tokens: new Map(tokens), secrets: new Map(secrets), ...rest }
}
