/** The attempts of a call, oldest first: those of its history, and the one that runs or that ended it. */
import { faultIn, type Instance, startsOf } from '../../../core/call/instance.ts'
import { isTerminal } from '../../../core/call/state.ts'
import type { FaultKind } from '../../../core/fault.ts'
import type { JsonObject } from '../../../core/json.ts'
import { type AttemptHistory, type PastAttempt, waitsForApproval } from '../../../core/ports/call-list.ts'
import { COUNT, timeText } from '../shapes.ts'
import type { ViewParts } from './call-view.ts'

export interface AttemptView {
  attempt: number
  startedAt?: string
  endedAt?: string
  outcome: 'failed' | 'cut-off' | 'held' | 'complete' | 'running' | 'canceled'
  code?: string
  message?: string
  retryAt?: string
}

export function attemptsOf(view: ViewParts, instance: Instance, { past, startedAt }: AttemptHistory): AttemptView[] {
  const attempts = past.map((attempt) => pastView(view, attempt))
  if (startedAt !== undefined) return [...attempts, lastView(view, instance, startedAt)]
  const isHeld = waitsForApproval(instance) || (instance.extras?.held === true && isTerminal(instance.state))
  // Its approval was not given, or not yet.
  if (isHeld && attempts.length === 0) return [heldView(instance)]
  return attempts
}

function pastView(
  { redact }: ViewParts,
  { attempt, outcome, startedAt, endedAt, code, message, retryAt }: PastAttempt,
) {
  return {
    attempt,
    outcome,
    ...(startedAt !== undefined && { startedAt: timeText(startedAt) }),
    endedAt: timeText(endedAt),
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message: String(redact(message)) }),
    ...(retryAt !== undefined && { retryAt: timeText(retryAt) }),
  }
}

function lastView({ redact }: ViewParts, instance: Instance, startedAt: number): AttemptView {
  const { endedAt, outcome } = instance
  const begun = { attempt: startsOf(instance), startedAt: timeText(startedAt) }
  if (endedAt === undefined) return { ...begun, outcome: 'running' }
  const fault = faultIn(outcome)
  const ended = { ...begun, endedAt: timeText(endedAt) }
  if (!fault) return { ...ended, outcome: 'complete' }
  const { kind, code, message } = fault
  return { ...ended, outcome: LAST[kind] ?? 'failed', code, message: String(redact(message)) }
}

/** How the last attempt ended, if it did not fail by itself. */
const LAST: Partial<Record<FaultKind, AttemptView['outcome']>> = { canceled: 'canceled', 'outcome-unknown': 'cut-off' }

function heldView({ createdAt, endedAt }: Instance): AttemptView {
  return {
    attempt: 1,
    outcome: 'held',
    startedAt: timeText(createdAt),
    ...(endedAt !== undefined && { endedAt: timeText(endedAt) }),
  }
}

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }

export const ATTEMPT_SCHEMA: JsonObject = {
  type: 'object',
  required: ['attempt', 'outcome'],
  properties: {
    attempt: COUNT,
    startedAt: time,
    endedAt: time,
    outcome: text,
    code: text,
    message: text,
    retryAt: time,
  },
}
