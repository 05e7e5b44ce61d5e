/** One call with its timeline: decision, approval, attempts, children, and the calls that repeat it. */
import { faultIn, type Instance } from '../../../core/call/instance.ts'
import { operation } from '../../../core/operation/define.ts'
import { jsonSchema } from '../../../core/operation/schema.ts'
import { SCOPES } from '../../../core/operation/scopes.ts'
import type { CallFilter } from '../../../core/ports/call-list.ts'
import { APPROVAL_SCHEMA, type ApprovalView, viewOf } from '../approval-view.ts'
import { MAX_PAGE, record, TEXT } from '../shapes.ts'
import { ATTEMPT_SCHEMA, type AttemptView, attemptsOf } from './attempts.ts'
import { type CallSummary, listedOf, SUMMARY_FIELDS, SUMMARY_SCHEMA, summaryOf } from './call-view.ts'
import { CALL_ID } from './filter.ts'
import { type CallsParts, callOf, scanOf } from './parts.ts'
import { STREAM_SCHEMA, type StreamView, streamOf } from './stream-view.ts'

interface CallDetails {
  call: CallSummary & { sessionId?: string; idempotencyKey?: string; risk?: string; traceparent?: string }
  decision?: { verdict: 'allow' | 'hold'; rule?: string }
  /** Present for a stream. */
  stream?: StreamView
  /** Without the arguments. */
  approval?: Omit<ApprovalView, 'args'>
  attempts: AttemptView[]
  /** The newest ones, if there are very many. */
  children: CallSummary[]
  replayOf?: string
  replays: string[]
  error?: { code: string; message: string }
}

const text = { type: 'string' }
const { args: _args, ...APPROVAL_FIELDS } = APPROVAL_SCHEMA.properties as Record<string, object>

export function getCall(parts: () => CallsParts) {
  return operation('v1:callplane.calls.get', {
    description: 'Returns one call with its attempts, its approval, its child calls and its replays.',
    internal: true,
    scopes: [SCOPES.read],
    args: jsonSchema<{ id: string }>(record({ id: TEXT }, ['id'])),
    result: jsonSchema<CallDetails>({
      type: 'object',
      required: ['call', 'attempts', 'children', 'replays'],
      properties: {
        call: {
          ...SUMMARY_SCHEMA,
          properties: { ...SUMMARY_FIELDS, sessionId: text, idempotencyKey: text, risk: text, traceparent: text },
        },
        decision: { type: 'object', required: ['verdict'], properties: { verdict: text, rule: text } },
        stream: STREAM_SCHEMA,
        approval: { type: 'object', properties: { ...APPROVAL_FIELDS } },
        attempts: { type: 'array', items: ATTEMPT_SCHEMA },
        children: { type: 'array', items: SUMMARY_SCHEMA },
        replayOf: text,
        replays: { type: 'array', items: CALL_ID },
        error: { type: 'object', required: ['code', 'message'], properties: { code: text, message: text } },
      },
    }),
    run: async ({ id }, { caller }) => {
      const all = parts()
      return detailsOf(all, await callOf(all, caller, id))
    },
  })
}

async function detailsOf(parts: CallsParts, instance: Instance): Promise<CallDetails> {
  const { store, env, registry } = parts
  const { id, tenant, sessionId, idempotencyKey, traceparent, extras, outcome } = instance
  const related = async (filter: CallFilter) =>
    (await store.calls.page({ tenant, filter, limit: MAX_PAGE, scan: scanOf(filter) })).calls
  const [history, approval, children, replays] = await Promise.all([
    store.calls.attempts(id),
    approvalOf(parts, instance),
    related({ parent: id }),
    related({ replayOf: id }),
  ])
  const risk = registry.byKey(instance.operation)?.risk
  const fault = faultIn(outcome)
  const stream = streamOf(instance)
  return {
    call: {
      ...summaryOf(env, listedOf(instance)),
      ...(sessionId !== undefined && { sessionId }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(risk !== undefined && { risk }),
      ...(traceparent !== undefined && { traceparent }),
    },
    ...((extras?.rule !== undefined || extras?.held) && {
      decision: {
        verdict: extras.held ? 'hold' : 'allow',
        ...(extras.rule !== undefined && { rule: extras.rule }),
      },
    }),
    ...(stream && { stream }),
    ...(approval && { approval }),
    attempts: attemptsOf(env, instance, history ?? { past: [] }),
    children: children.map((child) => summaryOf(env, child)),
    ...(extras?.replayOf !== undefined && { replayOf: extras.replayOf }),
    replays: replays.map((replay) => replay.id),
    ...(fault && { error: { code: fault.code, message: String(env.redact(fault.message)) } }),
  }
}

async function approvalOf(
  { approvals, clock }: CallsParts,
  { id, tenant, extras }: Instance,
): Promise<Omit<ApprovalView, 'args'> | undefined> {
  const approvalId = extras?.approvalId ?? (extras?.held ? id : undefined)
  const approval = approvalId === undefined ? undefined : await approvals.get(tenant, approvalId)
  if (!approval) return undefined
  const { args: _hidden, ...view } = viewOf(approval, clock.now())
  return view
}
