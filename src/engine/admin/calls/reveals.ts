/**
 * Entries of the audit trail about what an operator learned of arguments and results. They are written before the
 * operator gets it: if an entry cannot be written, nothing is shown.
 */
import { ownerOf } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import { fingerprintOf } from '../../../core/call/fingerprint.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { AuditEntry } from '../../../core/ports/store.ts'
import type { CallsParts } from './parts.ts'

type NoteParts = Pick<CallsParts, 'env' | 'clock'> & { store: Pick<CallsParts['store'], 'audit'> }

type Asked = Pick<HandlerContext, 'caller' | 'requestId'>

/** `name` is the operation that shows it. */
export async function noteReveal(
  { store, env, clock }: NoteParts,
  name: string,
  args: object,
  { caller, requestId }: Asked,
  about: NonNullable<AuditEntry['about']>,
): Promise<void> {
  const now = clock.now()
  await store.audit.append({
    id: env.newId(),
    tenant: caller.tenant,
    owner: ownerOf(caller),
    requestId,
    operation: `${name}@1.0.0`,
    fingerprint: fingerprintOf(env.digest, { operation: name, args: { ...args } as JsonObject, media: [], caller }),
    verdict: 'allow',
    backend: 'handler',
    attempts: 1,
    outcome: 'complete',
    startedAt: now,
    endedAt: now,
    about,
  })
}

/** A search tells which calls contain a text. The text itself may be a secret, so it is not in the entry. */
export async function noteSearch(parts: NoteParts, name: string, args: { text?: string }, asked: Asked): Promise<void> {
  if (args.text !== undefined) await noteReveal(parts, name, args, asked, { searched: true })
}
