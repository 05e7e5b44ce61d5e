/**
 * How the store's words are sent. An instance goes as a list, what every one has first: a list of values is read in half
 * the time that an object with as many names takes, and most of what is sent is instances.
 */
import type { Instance } from '../../core/model.ts'
import type { AuditEntry, Change, Claim, OpenCounts } from '../../core/ports.ts'

/** What every instance has, in the order it is sent in. */
const ALWAYS = [
  'id',
  'tenant',
  'owner',
  'caller',
  'requestId',
  'operation',
  'model',
  'args',
  'media',
  'fingerprint',
  'lineage',
  'state',
  'revision',
  'attempt',
  'settled',
  'failures',
  'rerunnable',
  'stopRequested',
  'createdAt',
  'expiresAt',
  'keepUntil',
] as const satisfies readonly (keyof Instance)[]

const IS_ALWAYS: ReadonlySet<string> = new Set(ALWAYS)

/** The values of those fields, and behind them, by their names, what few have, if there is any of it. */
export type InstanceMessage = unknown[]

export function encodeInstance(instance: Instance): InstanceMessage {
  const message: InstanceMessage = ALWAYS.map((field) => instance[field])
  let rest: Record<string, unknown> | undefined
  for (const field in instance) {
    if (IS_ALWAYS.has(field)) continue
    rest ??= {}
    rest[field] = instance[field as keyof Instance]
  }
  if (rest) message.push(rest)
  return message
}

export function decodeInstance(message: InstanceMessage): Instance {
  const instance: Record<string, unknown> = {}
  for (const [at, field] of ALWAYS.entries()) instance[field] = message[at]
  return Object.assign(instance, message[ALWAYS.length]) as unknown as Instance
}

/** Of the instance that a process runs the other side knows as much, so that its end need not repeat it. */
type KnownAudit = Pick<AuditEntry, 'id' | 'tenant' | 'owner' | 'requestId' | 'operation' | 'fingerprint'>
export type ChangeMessage = Omit<Change, 'audit'> & { audit?: AuditEntry; known?: Omit<AuditEntry, keyof KnownAudit> }

export function encodeChange(change: Change, leased: Instance | undefined): ChangeMessage {
  const { audit, ...rest } = change
  if (!audit || !leased) return change
  const { id, tenant, owner, requestId, operation, fingerprint, ...known } = audit
  const same =
    id === leased.id &&
    tenant === leased.tenant &&
    owner === leased.owner &&
    requestId === leased.requestId &&
    operation === leased.operation &&
    fingerprint === leased.fingerprint
  return same ? { ...rest, known } : change
}

/** Nothing if it leaves out what this side no longer knows: somebody else has taken the call over. */
export function decodeChange(message: ChangeMessage, leased: KnownAudit | undefined): Change | undefined {
  const { known } = message
  if (!known) return message
  if (!leased) return undefined
  const { id, tenant, owner, requestId, operation, fingerprint } = leased
  // Put into what was read a moment ago and is nobody else's: a copy of it would cost as much as reading it.
  message.audit = { id, tenant, owner, requestId, operation, fingerprint, ...known }
  return message
}

/** Without `operations` they are those of the last claim on this channel. */
export interface ClaimMessage extends Omit<Claim, 'operations' | 'slots'> {
  operations?: readonly string[]
  slots?: readonly (readonly [string, number])[]
}

export interface CountsMessage {
  queued: number
  byOwner: readonly (readonly [string, number])[]
  byOperation: readonly (readonly [string, number])[]
}

export function encodeCounts({ queued, byOwner, byOperation }: OpenCounts): CountsMessage {
  return { queued, byOwner: [...byOwner], byOperation: [...byOperation] }
}

export function decodeCounts({ queued, byOwner, byOperation }: CountsMessage): OpenCounts {
  return { queued, byOwner: new Map(byOwner), byOperation: new Map(byOperation) }
}
