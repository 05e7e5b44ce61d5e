/**
 * The records of an open stream: one lists it under its session, from its acceptance to its end; the other marks that a
 * node has started its handler.
 */
import type { Instance } from '../../core/call/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'

type Owner = Pick<Instance, 'tenant' | 'owner'>

export interface InSession extends Owner {
  id: string
  requestId: string
  /** The caller's session, or the one that was made for the stream. */
  sessionId: string
}

const PAGE = 100

/** Written with the acceptance of a stream. */
export function addingStream(env: Environment, stream: InSession): RecordChange {
  return { key: prefixOf(env, stream, stream.sessionId) + stream.id, value: stream.requestId }
}

/** Written with the start of a stream by its reader. Of two nodes that start it at once, one succeeds. */
export function startingStream({ id, expiresAt }: Instance): readonly RecordChange[] {
  return [{ key: startedKey(id), value: '', expected: null, expiresAt }]
}

/** Written with the end of a stream. */
export function removingStream(env: Environment, instance: Instance): readonly RecordChange[] {
  const { stream } = instance.extras ?? {}
  if (!stream) return []
  const inSession = { key: prefixOf(env, instance, stream.sessionId) + instance.id }
  return [inSession, { key: startedKey(instance.id) }]
}

/** The request ids of the caller's open streams in this session. */
export async function streamsIn(
  env: Environment,
  records: Records,
  who: Owner,
  sessionId: string,
): Promise<readonly string[]> {
  const found: string[] = []
  const prefix = prefixOf(env, who, sessionId)
  for (let after: string | undefined; ; ) {
    const page = await records.list(prefix, PAGE, after)
    found.push(...page.map(({ value }) => value))
    if (page.length < PAGE) return found
    after = page.at(-1)?.key
  }
}

function startedKey(id: string): string {
  return `stream-started/${id}`
}

function prefixOf({ digest }: Environment, { tenant, owner }: Owner, sessionId: string): string {
  return `stream-session/${digest(JSON.stringify([tenant, owner, sessionId]))}/`
}
