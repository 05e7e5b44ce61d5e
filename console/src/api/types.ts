/**
 * The arguments and results of the server's own operations, from the server's own types. A change of the server that
 * the page does not follow fails the type check of the page. Only types are imported.
 */
import type { Named } from '../../../src/client/types.ts'
import type { ServerOperations } from '../../../src/engine/admin/operations.ts'

export type { ServerOperations }

/** By their names. */
export type Operations = Named<ServerOperations>
export type OperationName = keyof Operations
export type ArgsOf<N extends OperationName> = Operations[N]['args']
export type ResultOf<N extends OperationName> = Operations[N]['result']

export type WhoAmI = ResultOf<'v1:callplane.whoami'>
export type CheckArgs = ArgsOf<'v1:callplane.calls.check'>
export type CheckResult = ResultOf<'v1:callplane.calls.check'>
export type FaultView = ResultOf<'v1:callplane.faults.list'>['faults'][number]

export type CallPage = ResultOf<'v1:callplane.calls.list'>
export type CallSummary = CallPage['calls'][number]
export type CallDetails = ResultOf<'v1:callplane.calls.get'>
export type AttemptView = CallDetails['attempts'][number]
export type Payload = ResultOf<'v1:callplane.calls.payload'>
export type DeadLetterPage = ResultOf<'v1:callplane.deadletters.list'>

/** Several calls: by their ids, or all that a filter matches, with the number that the person saw. */
export type Selection = Omit<ArgsOf<'v1:callplane.calls.cancel'>, 'why'>
export type CallFilter = NonNullable<ArgsOf<'v1:callplane.changes.wait'>['filter']>

export type ApprovalView = ResultOf<'v1:callplane.approvals.get'>
export type Changes = ResultOf<'v1:callplane.changes.wait'>
export type Change = Changes['events'][number]

export type MetricSeries = ResultOf<'v1:callplane.metrics.series'>
export type NodeView = ResultOf<'v1:callplane.nodes.list'>['nodes'][number]
export type AuditEntry = ResultOf<'v1:callplane.audit.list'>['entries'][number]
export type AuditFilter = Omit<ArgsOf<'v1:callplane.audit.list'>, 'before' | 'limit'>
export type ExportArgs = ArgsOf<'v1:callplane.exports.create'>
