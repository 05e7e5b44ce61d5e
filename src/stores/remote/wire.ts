/**
 * How the store's words are sent. An instance goes as a list, what every one has first: a list of values is read in half
 * the time that an object with as many names takes, and most of what is sent is instances.
 */
import type { Instance } from '../../core/model.ts'
import type { AuditEntry, Change, Claim, OpenCounts } from '../../core/ports.ts'

type Always = [
  id: string,
  tenant: string,
  owner: string,
  caller: Instance['caller'],
  requestId: string,
  operation: string,
  model: Instance['model'],
  args: Instance['args'],
  media: Instance['media'],
  fingerprint: string,
  lineage: readonly string[],
  state: Instance['state'],
  revision: number,
  attempt: number,
  settled: number,
  failures: number,
  rerunnable: boolean,
  stopRequested: boolean,
  createdAt: number,
  expiresAt: number,
  keepUntil: number,
]

/** `dueAt` is `null` where there is none; what few have is an object at the end, if there is any of it. */
export type InstanceMessage = [...Always, dueAt: number | null, rest?: Partial<Instance>]

export function encodeInstance(instance: Instance): InstanceMessage {
  const {
    id, tenant, owner, caller, requestId, operation, model, args, media, fingerprint, lineage, state, revision,
    attempt, settled, failures, rerunnable, stopRequested, createdAt, expiresAt, keepUntil, dueAt, ...rest
  } = instance // biome-ignore format: a list of names
  const message: InstanceMessage = [
    id, tenant, owner, caller, requestId, operation, model, args, media, fingerprint, lineage, state, revision,
    attempt, settled, failures, rerunnable, stopRequested, createdAt, expiresAt, keepUntil, dueAt ?? null,
  ] // biome-ignore format: the same list
  for (const _ in rest) {
    message.push(rest)
    break
  }
  return message
}

export function decodeInstance(message: InstanceMessage): Instance {
  const [
    id, tenant, owner, caller, requestId, operation, model, args, media, fingerprint, lineage, state, revision,
    attempt, settled, failures, rerunnable, stopRequested, createdAt, expiresAt, keepUntil, dueAt, rest,
  ] = message // biome-ignore format: the same list
  const instance: Instance = {
    id, tenant, owner, caller, requestId, operation, model, args, media, fingerprint, lineage, state, revision,
    attempt, settled, failures, rerunnable, stopRequested, createdAt, expiresAt, keepUntil,
  } // biome-ignore format: the same list
  if (dueAt !== null) instance.dueAt = dueAt
  return rest ? Object.assign(instance, rest) : instance
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
