/**
 * Administrative tasks as operations, so that every protocol and the command line offer the same ones. They are created
 * before the engine. `connect` gives them the engine's parts later.
 */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import { operation } from '../../core/operation/define.ts'
import type { Operation, OperationDefinition, Tombstone } from '../../core/operation/operation.ts'
import { jsonSchema } from '../../core/operation/schema.ts'
import { SCOPES } from '../../core/operation/scopes.ts'
import type { NodeInfo } from '../../core/ports/nodes.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import { callEnded } from '../wait/approval-faults.ts'
import type { Approval, Approvals } from '../wait/approvals.ts'
import { type FaultsParts, listFaults } from './about/faults.ts'
import { type DetailsParts, getOperation } from './about/operation-details.ts'
import { type WhoAmIParts, whoAmI } from './about/whoami.ts'
import { APPROVAL_SCHEMA, type ApprovalView, viewOf } from './approval-view.ts'
import { previousOf } from './approvals/previous.ts'
import { listAudit } from './audit/list.ts'
import { type CancelParts, cancelCalls } from './calls/cancel.ts'
import { type CheckParts, checkCall } from './calls/check.ts'
import { countCalls } from './calls/count.ts'
import { getCall } from './calls/get.ts'
import { listCalls } from './calls/list.ts'
import type { CallsParts } from './calls/parts.ts'
import { getPayload } from './calls/payload.ts'
import { type ReplayParts, replayCalls } from './calls/replay.ts'
import { type ChangesParts, waitForChanges, watchChanges } from './changes/changes.ts'
import { dismissDeadLetters } from './dead-letters/dismiss.ts'
import { listDeadLetters } from './dead-letters/list.ts'
import { createExport } from './exports/create.ts'
import { getSeries, type SeriesParts } from './metrics/series.ts'
import { listNodes } from './nodes-operation.ts'
import { ID, LIMIT, MAX_PAGE } from './shapes.ts'

export interface OwnParts
  extends WhoAmIParts,
    DetailsParts,
    FaultsParts,
    CallsParts,
    CheckParts,
    CancelParts,
    ReplayParts,
    ChangesParts,
    SeriesParts {
  approvals: Approvals
  worker: Pick<Worker, 'wake'>
  store: Store
  clock: Clock
  env: Environment
  registry: Registry
  /** The processes of this server, or the nodes on its store. */
  nodes(): Promise<readonly NodeInfo[]>
}

export interface OwnOperations {
  definitions: readonly OperationDefinition[]
  connect(parts: OwnParts): void
  /** Repairs what an earlier version left behind when it was killed. */
  resume(): Promise<void>
}

const APPROVE = [SCOPES.approve]
const OURS = /^v\d+:callplane\./
/** The maximum number of approvals that one call of `approvals.list` reads. */
const MAX_SCANNED = 2_000

export function createOwnOperations(): OwnOperations {
  let connected: OwnParts | undefined
  const parts = (): OwnParts => {
    if (!connected) throw new Fault('unavailable', 'The server is starting. Try again in a moment.')
    return connected
  }
  return {
    definitions: [
      operation('v1:callplane.approvals.list', {
        description: 'Lists the approvals that wait for a decision, oldest first. With "all", lists decided ones too.',
        internal: true,
        scopes: APPROVE,
        args: jsonSchema<{ all?: boolean; limit?: number; after?: string }>({
          type: 'object',
          additionalProperties: false,
          properties: { all: { type: 'boolean' }, limit: LIMIT, after: ID },
        }),
        result: jsonSchema<ApprovalPage>({
          type: 'object',
          required: ['approvals'],
          properties: { approvals: { type: 'array', items: APPROVAL_SCHEMA }, next: ID },
        }),
        run: (args, ctx) => listApprovals(parts(), ctx.caller, args),
      }),
      operation('v1:callplane.approvals.get', {
        description: 'Returns one approval, with the arguments of its call.',
        internal: true,
        scopes: APPROVE,
        args: jsonSchema<{ id: string }>({
          type: 'object',
          required: ['id'],
          additionalProperties: false,
          properties: { id: ID },
        }),
        result: jsonSchema<ApprovalView>(APPROVAL_SCHEMA),
        run: async ({ id }, ctx) => {
          const { approvals, clock } = parts()
          const approval = await approvals.get(ctx.caller.tenant, id)
          if (approval) {
            const previous = await previousOf(approvals, approval)
            return { ...viewOf(approval, clock.now()), ...(previous && { previous }) }
          }
          throw new Fault('not-found', `There is no approval "${id}". List the approvals to find the id.`)
        },
      }),
      operation('v1:callplane.approvals.decide', {
        description: 'Approves or denies one call. You cannot decide about your own call, unless the policy allows it.',
        internal: true,
        scopes: APPROVE,
        sideEffecting: true,
        // An approval can be decided only once, so a repeated request has no second effect.
        idempotencyRequired: false,
        args: jsonSchema<{ id: string; verdict: 'approve' | 'deny'; why?: string }>({
          type: 'object',
          required: ['id', 'verdict'],
          additionalProperties: false,
          properties: { id: ID, verdict: { enum: ['approve', 'deny'] }, why: { type: 'string', maxLength: 1_000 } },
        }),
        result: jsonSchema<ApprovalView>(APPROVAL_SCHEMA),
        run: (args, ctx) => decide(parts(), ctx.caller, args),
      }),
      listAudit(parts),
      listNodes(parts),
      listCalls(parts),
      countCalls(parts),
      getCall(parts),
      getPayload(parts),
      whoAmI(parts),
      getOperation(parts),
      listFaults(parts),
      checkCall(parts),
      cancelCalls(parts),
      waitForChanges(parts),
      watchChanges(parts),
      replayCalls(parts),
      listDeadLetters(parts),
      dismissDeadLetters(parts),
      createExport(parts),
      getSeries(parts),
    ],
    connect(given) {
      connected = given
    },
    resume: () => parts().approvals.decisions.repair(),
  }
}

interface ApprovalPage {
  approvals: ApprovalView[]
  /** Pass it as `after` to get the next page. Absent on the last page. */
  next?: string
}

async function listApprovals(
  { approvals, clock }: OwnParts,
  { tenant }: Caller,
  { all = false, limit = 50, after }: { all?: boolean; limit?: number; after?: string },
): Promise<ApprovalPage> {
  if (!all) {
    const { approvals: waiting, next } = await approvals.pending(tenant, limit, after)
    return { approvals: waiting.map((one) => viewOf(one, clock.now())), ...(next !== undefined && { next }) }
  }
  const found: ApprovalView[] = []
  let last = after
  for (let scanned = 0; scanned < MAX_SCANNED; ) {
    const page = await approvals.list(tenant, MAX_PAGE, last)
    for (const approval of page) {
      last = approval.id
      found.push(viewOf(approval, clock.now()))
      if (found.length === limit) return { approvals: found, next: last }
    }
    if (page.length < MAX_PAGE) return { approvals: found }
    scanned += page.length
  }
  return { approvals: found, ...(last !== undefined && { next: last }) }
}

async function decide(
  parts: OwnParts,
  decider: Caller,
  { id, verdict, why }: { id: string; verdict: 'approve' | 'deny'; why?: string },
): Promise<ApprovalView> {
  const { approvals, worker, clock } = parts
  const decided = await approvals.decisions.decide(decider, id, verdict, why)
  worker.wake()
  const waits = decided.instanceId !== undefined
  if (waits && verdict === 'approve' && (await endedWithout(parts, decided))) throw callEnded()
  return viewOf(decided, clock.now())
}

/** True if the call ended while it was being approved, and did not run. */
async function endedWithout(
  { approvals, store }: OwnParts,
  { id, tenant, instanceId = id }: Approval,
): Promise<boolean> {
  const instance = await store.get(instanceId)
  if (instance && !hasEnded(instance)) return false
  return (await approvals.get(tenant, id))?.status !== 'used'
}

export function isOurs({ name }: Operation): boolean {
  return OURS.test(name.full)
}

/**
 * No policy applies to the server's own operations, so an application must not define operations in their namespace.
 */
export function refuseOwnNames<App>(given: readonly (OperationDefinition<App> | Tombstone)[]): void {
  const taken = given.find(({ name }) => typeof name === 'string' && OURS.test(name))
  if (!taken) return
  throw new Fault(
    'malformed',
    `${taken.name}: the namespace "callplane" is reserved for the server. Use another namespace.`,
    {
      code: 'INVALID_OPERATION',
    },
  )
}
