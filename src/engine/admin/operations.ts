/**
 * Administrative tasks as operations, so that every protocol and the command line offer the same ones. They are created
 * before the engine. `connect` gives them the engine's parts later.
 */

import { Fault } from '../../core/fault.ts'
import type { Operation, OperationDefinition, Tombstone } from '../../core/operation/operation.ts'
import type { NodeInfo } from '../../core/ports/nodes.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import type { Approvals } from '../wait/approvals.ts'
import { type FaultsParts, listFaults } from './about/faults.ts'
import { type DetailsParts, getOperation } from './about/operation-details.ts'
import { type WhoAmIParts, whoAmI } from './about/whoami.ts'
import { decideApproval } from './approvals/decide.ts'
import { getApproval } from './approvals/get.ts'
import { listApprovals } from './approvals/list.ts'
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

const OPERATIONS = [
  listApprovals,
  getApproval,
  decideApproval,
  listAudit,
  listNodes,
  listCalls,
  countCalls,
  getCall,
  getPayload,
  whoAmI,
  getOperation,
  listFaults,
  checkCall,
  cancelCalls,
  waitForChanges,
  watchChanges,
  replayCalls,
  listDeadLetters,
  dismissDeadLetters,
  createExport,
  getSeries,
] as const

/** The types of the operations, for a typed client: `createClient<ServerOperations>(…)`. The console is one. */
export type ServerOperations = readonly ReturnType<(typeof OPERATIONS)[number]>[]

const OURS = /^v\d+:callplane\./

export function createOwnOperations(): OwnOperations {
  let connected: OwnParts | undefined
  const parts = (): OwnParts => {
    if (!connected) throw new Fault('unavailable', 'The server is starting. Try again in a moment.')
    return connected
  }
  return {
    definitions: OPERATIONS.map((define) => define(parts)),
    connect(given) {
      connected = given
    },
    resume: () => parts().approvals.decisions.repair(),
  }
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
