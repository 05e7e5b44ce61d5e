/**
 * Reads the contents of a data folder that no server has open: calls, approvals, standing keys, list entries,
 * announcements, the audit trail and objects. Checks the rules between them, which must hold no matter when the server
 * was killed.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { InstanceExtras, Outcome } from '../../src/core/call/instance.ts'
import type { Approval } from '../../src/engine/wait/approvals.ts'

export interface LedgerCall {
  id: string
  requestId: string
  operation: string
  state: string
  ended: boolean
  attempt: number
  settled: number
  dueAt: number | null
  key: string | null
  extras: InstanceExtras
  outcome: Outcome | null
  audited: boolean
  waits: boolean
}

export interface Ledger {
  now: number
  calls: readonly LedgerCall[]
  /** Records that have not expired. */
  records: ReadonlyMap<string, string>
  aliases: readonly { requestId: string; instanceId: string }[]
  trail: readonly { id: string }[]
  /** Ids of calls that have stored objects. */
  owners: readonly string[]
}

export interface LedgerRules {
  /** True if ended calls and opened approvals are announced. */
  announced?: boolean
  /** True if no work is left: no call runs or is due. */
  atRest?: boolean
  /** True if approvals are used by calls that leave no row. */
  unrecordedUse?: boolean
}

export function readLedger(data: string, now: number): Ledger {
  const db = new Database(join(data, 'callplane.db'))
  try {
    const rows = db.prepare('SELECT * FROM instances').all() as Record<string, never>[]
    const records = db
      .prepare('SELECT key, value FROM records WHERE expires_at IS NULL OR expires_at > ?')
      .all(now) as { key: string; value: string }[]
    const aliases = db.prepare('SELECT request_id, instance_id FROM aliases').all() as Record<string, string>[]
    return {
      now,
      calls: rows.map(callOf),
      records: new Map(records.map(({ key, value }) => [key, value])),
      aliases: aliases.map((row) => ({ requestId: row.request_id ?? '', instanceId: row.instance_id ?? '' })),
      trail: db.prepare('SELECT id FROM audit').all() as Ledger['trail'],
      owners: ownersBelow(join(data, 'objects')),
    }
  } finally {
    db.close()
  }
}

function callOf(row: Record<string, never>): LedgerCall {
  return {
    id: row.id as unknown as string,
    requestId: row.request_id as unknown as string,
    operation: row.operation as unknown as string,
    state: row.state as unknown as string,
    ended: row.ended === 1,
    attempt: row.attempt as unknown as number,
    settled: row.settled as unknown as number,
    dueAt: row.due_at as unknown as number | null,
    key: row.idempotency_key as unknown as string | null,
    extras: JSON.parse(row.extras ?? '{}'),
    outcome: JSON.parse(row.outcome ?? 'null'),
    audited: row.audit !== null,
    waits: row.waiting !== null,
  }
}

const CALL_ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/

/** Every file is in a folder named after its call. Unfinished files are elsewhere and are removed after an hour. */
function ownersBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  const whole = files.filter(({ parentPath }) => !parentPath.includes('unfinished'))
  return whole.flatMap(({ parentPath }) => CALL_ID.exec(parentPath.slice(folder.length))?.[0] ?? [])
}

/** Returns a description of every broken rule; empty for a correct server. */
export function problemsInLedger(ledger: Ledger, rules: LedgerRules = {}): string[] {
  const { announced = false, atRest = true, unrecordedUse = false } = rules
  const index = new Index(ledger)
  return [
    ...index.approvals.flatMap((approval) => approvalProblems(approval, index, unrecordedUse)),
    ...entriesOf(ledger, 'approval-for/').flatMap(([key, id]) => standingProblems(key, id, index)),
    ...listProblems(index),
    ...ledger.calls.flatMap((call) => callProblems(call, index, atRest)),
    ...ledger.aliases
      .filter(({ instanceId }) => !index.call(instanceId))
      .map(({ requestId }) => `the alias ${requestId} stands for a call that is not there`),
    ...['shown/', 'call-secrets/'].flatMap((prefix) => sealedProblems(prefix, index)),
    ...entriesOf(ledger, 'stream-')
      .filter(([key]) => !key.startsWith('stream-ticket/') && index.call(key.split('/').at(-1) ?? '')?.ended !== false)
      .map(([key]) => `${key} is kept, and its stream has ended`),
    ...(announced ? announcementProblems(index) : []),
    ...(atRest ? leftoverProblems(ledger, index) : []),
  ]
}

/** The sealed secrets of a call are removed when it ends. */
function sealedProblems(prefix: string, index: Index): string[] {
  return entriesOf(index.ledger, prefix)
    .filter(([key]) => index.call(key.slice(prefix.length))?.ended !== false)
    .map(([key]) => `${key} is kept, and its call has ended`)
}

class Index {
  readonly ledger: Ledger
  readonly approvals: readonly Approval[]
  readonly #calls: ReadonlyMap<string, LedgerCall>
  readonly #approvals: ReadonlyMap<string, Approval>

  constructor(ledger: Ledger) {
    this.ledger = ledger
    this.approvals = entriesOf(ledger, 'approval/').map(([, value]) => JSON.parse(value) as Approval)
    this.#calls = new Map(ledger.calls.map((call) => [call.id, call]))
    this.#approvals = new Map(this.approvals.map((approval) => [approval.id, approval]))
  }

  call(id: string): LedgerCall | undefined {
    return this.#calls.get(id)
  }

  approval(id: string): Approval | undefined {
    return this.#approvals.get(id)
  }

  isOver({ expiresAt }: Approval): boolean {
    return expiresAt <= this.ledger.now
  }

  isListed({ id }: Approval): boolean {
    return this.#has('approval-waiting/', id)
  }

  isCounted({ id }: Approval): boolean {
    return this.#has('approval-of/', id)
  }

  stands({ tenant, binding, id }: Approval): boolean {
    return this.ledger.records.get(`approval-for/${encodeURIComponent(tenant)}/${binding}`) === id
  }

  #has(prefix: string, id: string): boolean {
    return [...this.ledger.records.keys()].some((key) => key.startsWith(prefix) && key.endsWith(`/${id}`))
  }
}

function entriesOf({ records }: Ledger, prefix: string): [string, string][] {
  return [...records].filter(([key]) => key.startsWith(prefix))
}

function approvalProblems(approval: Approval, index: Index, unrecordedUse: boolean): string[] {
  const { id, status, instanceId, args } = approval
  const name = `the approval ${id} (${status})`
  const call = instanceId === undefined ? undefined : index.call(instanceId)
  const open = (status === 'pending' || status === 'approved') && !index.isOver(approval)
  const users = index.ledger.calls.filter(({ extras }) => extras.approvalId === id && !extras.held)
  const began = users.filter(({ outcome }) => !(outcome?.kind === 'fault' && outcome.unbegun))
  return [
    status === 'pending' && open && !index.isListed(approval) && `${name} waits and is not on the list`,
    status === 'pending' && open && !index.isCounted(approval) && `${name} waits and does not count for its owner`,
    status !== 'pending' && index.isListed(approval) && `${name} is on the list of those that wait`,
    open && instanceId !== undefined && !call && `${name} is for a call that is not there`,
    open && call?.ended && `${name} is open, and its call has ended`,
    open && instanceId === undefined && !index.stands(approval) && `${name} is open, and no key stands for it`,
    status === 'approved' && call && !call.ended && isIdle(call, index.ledger) && `${name}: its call does not know`,
    status === 'used' && instanceId !== undefined && call?.attempt === 0 && `${name}: its call has not begun`,
    status === 'used' &&
      instanceId === undefined &&
      users.length === 0 &&
      !unrecordedUse &&
      `${name}: no call has used it`,
    status === 'canceled' && call && !call.ended && `${name}: its call has not ended`,
    status === 'canceled' && args !== null && `${name} keeps its arguments`,
    began.length > 1 && `${name} was used by ${began.length} calls`,
    instanceId === undefined && open && began.length > 0 && `${name} was used and is open`,
  ].filter((problem) => typeof problem === 'string')
}

/** True if no worker runs the call or will soon. */
function isIdle({ dueAt, attempt, settled }: LedgerCall, { now }: Ledger): boolean {
  return attempt === settled && (dueAt === null || dueAt > now)
}

function standingProblems(key: string, id: string, index: Index): string[] {
  const approval = index.approval(id)
  if (!approval) return [`${key} stands for the approval ${id}, which is not there`]
  if (approval.status === 'used' || approval.status === 'canceled')
    return [`${key} stands for the approval ${id}, which is ${approval.status}`]
  return []
}

function listProblems(index: Index): string[] {
  const lists = ['approval-waiting/', 'approval-of/'].flatMap((prefix) => entriesOf(index.ledger, prefix))
  return lists
    .filter(([key]) => !index.approval(key.slice(key.lastIndexOf('/') + 1)))
    .map(([key]) => `${key} is for an approval that is not there`)
}

function callProblems(call: LedgerCall, index: Index, atRest: boolean): string[] {
  const { id, state, extras, ended, outcome, waits } = call
  const name = `the call ${id} (${state})`
  const approval = extras.held ? index.approval(extras.approvalId ?? id) : undefined
  const waiting = waits || extras.asking?.questions !== undefined || approval?.status === 'pending'
  return [
    ended && !outcome && `${name} has no outcome`,
    !ended && extras.sealed && !index.ledger.records.has(`call-secrets/${id}`) && `${name} has lost its secrets`,
    ended && !call.audited && !index.ledger.trail.some((entry) => entry.id === id) && `${name} is not in the trail`,
    !ended && extras.held && call.attempt === 0 && !approval && `${name} waits for an approval that is not there`,
    atRest && !ended && !waiting && `${name} is left`,
  ].filter((problem) => typeof problem === 'string')
}

function announcementProblems({ ledger, approvals }: Index): string[] {
  const keys = new Set(ledger.calls.filter(isAnnouncement).map(({ key }) => key))
  const ended = ledger.calls.filter((call) => call.ended && !call.operation.startsWith('v1:callplane.'))
  const due = [
    ...ended.map(({ id }) => `call.ended:${id}`),
    ...approvals.map(({ id }) => `approval.pending:${id}`),
  ].filter((key) => !keys.has(key) && !ledger.records.has(`announce/${key}`))
  return due.map((key) => `${key} was not announced`)
}

function isAnnouncement({ operation }: LedgerCall): boolean {
  return operation.startsWith('v1:callplane.announce')
}

function leftoverProblems(ledger: Ledger, index: Index): string[] {
  return [
    ...entriesOf(ledger, 'announce/').map(([key]) => `${key} was left`),
    ...new Set(ledger.owners.filter((id) => !index.call(id)).map((id) => `bytes of ${id} are left, and no call is`)),
  ]
}
