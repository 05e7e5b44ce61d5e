/** What happened to a call, in order, from what the server keeps of it. Pure. */
import type { AttemptView, CallDetails } from '../api/types.ts'
import type { IconName } from '../design/icon.tsx'
import { texts } from '../texts/en/run.ts'

export interface TimelineEvent {
  readonly name: string
  readonly title: string
  readonly at?: string | undefined
  /** Lasted until. */
  readonly until?: string | undefined
  readonly detail?: string | undefined
  readonly code?: string | undefined
  readonly tone: 'ok' | 'bad' | 'warn' | 'busy' | 'idle'
  readonly icon: IconName
}

const LOOKS: Record<AttemptView['outcome'], Pick<TimelineEvent, 'tone' | 'icon'>> = {
  complete: { tone: 'ok', icon: 'done' },
  failed: { tone: 'bad', icon: 'cross' },
  'cut-off': { tone: 'bad', icon: 'plug' },
  held: { tone: 'warn', icon: 'pause' },
  running: { tone: 'busy', icon: 'busy' },
  canceled: { tone: 'idle', icon: 'stop' },
}

export function timelineOf(details: CallDetails): TimelineEvent[] {
  const { call, decision, attempts, children } = details
  return [
    { name: 'accepted', title: texts.events.accepted, at: call.createdAt, tone: 'idle', icon: 'clock' },
    ...(decision ? [decisionEvent(decision)] : []),
    ...approvalEvents(details),
    ...attempts.flatMap(attemptEvents),
    ...(children.length > 0
      ? [
          {
            name: 'children',
            title: texts.events.children(children.length),
            at: children[0]?.createdAt,
            tone: 'idle' as const,
            icon: 'right' as const,
          },
        ]
      : []),
    endEvent(details),
  ]
}

function decisionEvent({ verdict, rule }: NonNullable<CallDetails['decision']>): TimelineEvent {
  const tone = verdict === 'hold' ? 'warn' : 'idle'
  const title = `${texts.events.decided[verdict]} ${rule ?? texts.events.thePolicy}`
  return { name: 'decision', title, tone, icon: 'approvals' }
}

function approvalEvents({ approval }: CallDetails): TimelineEvent[] {
  if (!approval) return []
  const { status, decision, reason, createdAt, expiresAt } = approval
  const asked = { name: 'held', title: texts.events.held, at: createdAt, detail: reason, tone: 'warn', icon: 'pause' }
  if (status === 'pending') return [{ ...asked, until: expiresAt } as TimelineEvent]
  const isYes = status === 'approved' || status === 'used'
  return [
    asked as TimelineEvent,
    {
      name: 'approval',
      title: texts.events.approval[status],
      at: decision?.at,
      detail: decision && [decision.by, decision.why].filter(Boolean).join(' · '),
      tone: isYes ? 'ok' : 'bad',
      icon: isYes ? 'done' : 'cross',
    },
  ]
}

function attemptEvents(attempt: AttemptView): TimelineEvent[] {
  const { outcome, startedAt, endedAt, code, message, retryAt } = attempt
  const event: TimelineEvent = {
    name: `attempt-${attempt.attempt}`,
    title: texts.events.attempt(attempt.attempt, texts.events.outcomes[outcome]),
    at: startedAt ?? endedAt,
    until: startedAt && endedAt,
    detail: message,
    code,
    ...LOOKS[outcome],
  }
  if (!retryAt) return [event]
  return [
    event,
    { name: `retry-${attempt.attempt}`, title: texts.events.retry, at: retryAt, tone: 'idle', icon: 'clock' },
  ]
}

function endEvent({ call, error }: CallDetails): TimelineEvent {
  const isCanceled = call.state === 'error' && call.code === 'CANCELED'
  if (isCanceled) return { name: 'end', title: texts.events.canceled, at: call.endedAt, tone: 'idle', icon: 'stop' }
  if (call.state === 'complete')
    return { name: 'end', title: texts.events.complete, at: call.endedAt, tone: 'ok', icon: 'done' }
  if (call.state === 'error') {
    return {
      name: 'end',
      title: texts.events.error,
      at: call.endedAt,
      detail: error?.message,
      code: call.code,
      tone: 'bad',
      icon: 'cross',
    }
  }
  const { progress } = call
  const title = call.state === 'streaming' ? texts.events.streaming : progress ? texts.progress : texts.events.waiting
  const percent = progress && `${Math.round(progress.fraction * 100)} %`
  return {
    name: 'end',
    title,
    detail: [percent, progress?.message].filter(Boolean).join(' · '),
    tone: 'busy',
    icon: 'busy',
  }
}
