/**
 * Derives idempotency keys from the ids that providers give to tool calls, so that a repeated run does not repeat
 * effects.
 */

/** Shorter ids are counters, not random: another conversation has the same ones. */
const UNIQUE_LENGTH = 16

/** `asked` is the tool with its arguments: the same id with other arguments is another call. */
export function createKeys(session: string | undefined): (id: string, asked: string) => Promise<string> {
  const own = crypto.randomUUID()
  return async (id, asked) => {
    if (id === '') return crypto.randomUUID()
    const scope = session ?? (id.length < UNIQUE_LENGTH ? own : '')
    const bytes = new TextEncoder().encode(JSON.stringify([scope, id, asked]))
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
    return `agent-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  }
}
