/** Finds the open streams of a session: each has a record from its acceptance to its end. */
import type { Instance } from '../../core/call/instance.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'

type InSession = Pick<Instance, 'id' | 'tenant' | 'owner' | 'sessionId' | 'requestId'>

const PAGE = 100

/** Written with the acceptance of a stream. */
export function addingStream(env: Environment, stream: InSession): readonly RecordChange[] {
  if (stream.sessionId === undefined) return []
  return [{ key: keyOf(env, stream, stream.sessionId), value: stream.requestId }]
}

/** Written with the end of a stream. */
export function removingStream(env: Environment, instance: Instance): readonly RecordChange[] {
  if (!instance.extras?.stream || instance.sessionId === undefined) return []
  return [{ key: keyOf(env, instance, instance.sessionId) }]
}

/** The request ids of the caller's open streams in this session. */
export async function streamsIn(
  env: Environment,
  records: Records,
  who: Pick<Instance, 'tenant' | 'owner'>,
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

function keyOf(env: Environment, stream: InSession, sessionId: string): string {
  return prefixOf(env, stream, sessionId) + stream.id
}

function prefixOf({ digest }: Environment, { tenant, owner }: Pick<Instance, 'tenant' | 'owner'>, sessionId: string) {
  return `stream-session/${digest(JSON.stringify([tenant, owner, sessionId]))}/`
}
