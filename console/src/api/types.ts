/** Arguments and results of the server's own operations, as the page uses them. Times are ISO 8601 text. */

/** A UUIDv7: a time is a cursor. */
export type Id = string

export type CallState = 'accepted' | 'pending' | 'streaming' | 'complete' | 'error'

export interface CallFilter {
  state?: CallState[]
  /** True: waits for an approval. */
  held?: boolean
  /** Exact, or a prefix with `*` at its end. */
  operation?: string
  owner?: string
  code?: string
  sessionId?: string
  parent?: Id
  key?: string
  /** In the arguments or the result. */
  text?: string
  minAttempts?: number
  minMs?: number
  since?: string
  until?: string
}

export interface CallSummary {
  id: Id
  requestId: string
  operation: string
  owner: string
  userId?: string
  state: string
  held?: true
  code?: string
  kind?: string
  attempts: number
  createdAt: string
  endedAt?: string
  durationMs?: number
  expiresAt: string
  parent?: Id
  replayOf?: Id
  deadLetter?: true
  progress?: { fraction?: number; message?: string }
}

export interface CallPage {
  calls: CallSummary[]
  next?: Id
  /** False if the search stopped before its end. */
  complete: boolean
}

export interface CallCounts {
  total: number
  capped: boolean
  groups: { value: string; count: number }[]
}

export interface AttemptView {
  attempt: number
  startedAt?: string
  endedAt?: string
  outcome: 'failed' | 'cut-off' | 'held' | 'complete' | 'running' | 'canceled'
  code?: string
  message?: string
  retryAt?: string
  node?: number
}

export interface CallDetails {
  call: CallSummary & { sessionId?: string; idempotencyKey?: string; risk?: string }
  decision?: { verdict: string; rule?: string }
  stream?: StreamView
  approval?: Omit<ApprovalView, 'args'>
  attempts: AttemptView[]
  children: CallSummary[]
  replayOf?: Id
  replays: Id[]
  error?: { code: string; message: string; cause?: object }
}

export interface Payload {
  part: string
  mediaType: string
  /** Of the whole part. */
  bytes: number
  offset: number
  text: string
  complete: boolean
  redactions: string[]
}

export interface WhoAmI {
  caller: { owner: string; tenant: string; userId?: string }
  scopes: string[]
  mode: 'read-write' | 'read-only'
  server: { name: string; version: string; startedAt: string }
  features: string[]
  session?: { expiresAt: string; idleSeconds: number }
}

export interface ApprovalView {
  id: Id
  status: 'pending' | 'approved' | 'denied' | 'used' | 'expired' | 'canceled'
  operation: string
  caller: string
  userId?: string
  risk: string
  args: unknown
  attachments?: { name: string; mimeType: string; bytes: number; sha256: string }[]
  rule?: string
  reason?: string
  waits: boolean
  createdAt: string
  expiresAt: string
  decision?: { by: string; at: string; why?: string }
  /** The last approved call of the same operation and caller. */
  previous?: { id: Id; args: unknown; decidedAt: string }
}

/** Several calls: by their ids, or all that a filter matches, with the number that the person saw. */
export type Selection = { ids: Id[] } | { filter: CallFilter; expected?: number }

export interface Changed {
  done: Id[]
  skipped: { id: Id; why: string }[]
}

export interface Replayed {
  started: { from: Id; id: Id; requestId: string }[]
  refused: { id: Id; code: string; message: string }[]
}

export interface DeadLetterPage extends CallPage {
  groups: { operation: string; code: string; count: number; lastAt: string }[]
}

export interface Change {
  kind: 'call' | 'approval'
  id: Id
  operation: string
  state: string
  at: string
}

export interface MetricSeries {
  times: string[]
  series: { name: string; operation?: string; node?: number; values: (number | null)[] }[]
}

export interface NodeView {
  node: number
  host?: string
  pid?: number
  version?: string
  startedAt?: string
  address?: string
  running?: number
  waiting?: number
  busy?: number
  draining?: boolean
}

export interface AuditEntry {
  id: Id
  operation: string
  owner: string
  requestId: string
  verdict: 'allow' | 'deny' | 'hold'
  rule?: string
  approvalId?: string
  backend: string
  attempts: number
  /** `complete`, or the kind of the failure. */
  outcome: string
  code?: string
  startedAt: string
  endedAt: string
}

export interface AuditFilter {
  operation?: string
  owner?: string
  since?: string
  until?: string
  verdict?: string
  outcome?: string
  code?: string
  rule?: string
  requestId?: string
}

export type WireName = 'opencall' | 'mcp' | 'oxp' | 'otc' | 'rest' | 'contract'

export interface FaultView {
  kind: string
  code: string
  retryable: boolean
  meaning: string
  remedy: string
  operations?: string[]
  wires: Partial<Record<WireName, { status?: number; code?: string | number }>>
}

export interface CheckResult {
  valid: boolean
  errors: { path: string; message: string }[]
  normalized?: object
  verdict: 'allow' | 'deny' | 'hold'
  rule?: string
  reason?: string
  missing: string[]
  wouldJoin?: Id
  effects: 'none' | 'once' | 'repeatable'
  risk: string
  /** The first failure that would refuse the call now. */
  refusal?: { code: string; message: string }
}

export interface OperationDetails {
  op: string
  entry: object
  backend: { kind: string; about?: string }
  risk: string
  capabilities: string[]
  retry: { attempts: number; retryable: string }
  import?: { from: string; tool: string }
  rates: { calls: number; errors: number; p50Ms?: number; p99Ms?: number; sinceMs: number }
}

export interface ExportArgs {
  what: 'calls' | 'deadletters' | 'audit'
  filter?: CallFilter | AuditFilter
  format: 'jsonl' | 'csv'
}

export interface StreamView {
  transport: string
  encoding: string
  /** When it ends, at the latest. */
  endsAt: string
  /** No reader has connected yet. */
  awaited?: true
  /** After its end. */
  frames?: number
  dropped?: number
  ended?: string
}

type Paging = { after?: Id; limit?: number }

/** The operations by name, for the typed client. */
export interface Operations {
  'v1:callplane.whoami': { args: Record<never, never>; result: WhoAmI }
  'v1:callplane.operations.get': { args: { op: string }; result: OperationDetails }
  'v1:callplane.calls.check': { args: { op: string; args: unknown }; result: CheckResult }
  'v1:callplane.calls.list': { args: CallFilter & Paging; result: CallPage }
  'v1:callplane.calls.count': {
    args: CallFilter & { by?: 'state' | 'operation' | 'code' | 'owner' }
    result: CallCounts
  }
  'v1:callplane.calls.get': { args: { id: Id }; result: CallDetails }
  'v1:callplane.calls.payload': {
    args: { id: Id; part: 'args' | 'result' | 'error'; offset?: number; bytes?: number }
    result: Payload
  }
  'v1:callplane.calls.cancel': { args: Selection & { why: string }; result: Changed }
  'v1:callplane.calls.replay': {
    args: Selection & { args?: unknown; as: 'owner' | 'me'; why: string }
    result: Replayed
  }
  'v1:callplane.deadletters.list': { args: CallFilter & Paging; result: DeadLetterPage }
  'v1:callplane.deadletters.dismiss': { args: Selection & { why: string }; result: Changed }
  'v1:callplane.changes.wait': {
    args: { after?: string; kinds?: ('call' | 'approval')[]; filter?: CallFilter; waitMs?: number }
    result: { events: Change[]; next: string }
  }
  'v1:callplane.metrics.series': {
    args: { names?: string[]; operation?: string; from?: string; to?: string; stepSeconds?: number }
    result: MetricSeries
  }
  'v1:callplane.nodes.list': {
    args: Record<never, never>
    result: { nodes: NodeView[]; queued: number; open: number }
  }
  'v1:callplane.approvals.list': {
    args: { all?: boolean; limit?: number; after?: Id }
    result: { approvals: ApprovalView[]; next?: Id }
  }
  'v1:callplane.approvals.get': { args: { id: Id }; result: ApprovalView }
  'v1:callplane.approvals.decide': {
    args: { id: Id; verdict: 'approve' | 'deny'; why?: string }
    result: ApprovalView
  }
  'v1:callplane.audit.list': {
    args: AuditFilter & { before?: Id; limit?: number }
    result: { entries: AuditEntry[]; next?: Id; complete?: boolean }
  }
  'v1:callplane.exports.create': {
    args: ExportArgs
    result: { kind: 'chunks'; mimeType: string; value: { rows: number } }
  }
  'v1:callplane.faults.list': { args: Record<never, never>; result: { faults: FaultView[] } }
}

export type OperationName = keyof Operations
