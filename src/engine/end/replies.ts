/** Builds the engine's reply from an instance. */

import type { Instance, Outcome, StreamState } from '../../core/call/instance.ts'
import type { Questions } from '../../core/call/questions.ts'
import type { Reply, StreamReply, Usage } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'

/** Slow enough for every poll limit, and short enough for a person who waits. */
const POLL_HINT_MS = 250

export interface Identity {
  requestId: string
  sessionId?: string
  model: Instance['model']
  expiresAt?: number
  usage?: Usage
}

/** An expiry before `now` is left out: such an outcome is not retained, so the caller cannot poll for it. */
export function replyTo(instance: Instance, now: number): Reply {
  const identity = identityOf(instance, now)
  if (instance.outcome) return replyWith(identity, instance.outcome)
  const stream = instance.state === 'streaming' ? instance.extras?.stream : undefined
  if (stream) return { ...identity, state: 'streaming', retryAfterMs: POLL_HINT_MS, stream: told(stream) }
  return {
    ...identity,
    state: instance.state === 'accepted' ? 'accepted' : 'pending',
    retryAfterMs: POLL_HINT_MS,
    ...(instance.progress && { progress: instance.progress }),
    ...awaited(instance),
  }
}

function told({ awaited: _, names: _names, runsAt: _runsAt, ...stream }: StreamState): StreamReply {
  return stream
}

/**
 * A held call stays accepted until its approval is decided. A call with questions stays pending until it has the
 * answers.
 */
function awaited({ state, extras }: Instance): { approvalId?: string; questions?: Questions } {
  const { held, approvalId, asking } = extras ?? {}
  if (asking?.questions) return { questions: asking.questions }
  return state === 'accepted' && held && approvalId !== undefined ? { approvalId } : {}
}

export function replyWith(identity: Identity, outcome: Outcome): Reply {
  switch (outcome.kind) {
    case 'result':
      return { ...identity, state: 'complete', result: outcome.value }
    case 'location':
      return { ...identity, state: 'complete', location: outcome.location }
    case 'fault':
      return { ...identity, state: 'error', fault: Fault.fromRecord(outcome.fault) }
  }
}

function identityOf(instance: Instance, now: number): Identity {
  const { requestId, sessionId, model, expiresAt, endedAt } = instance
  const identity: Identity = { requestId, model }
  if (expiresAt > now) identity.expiresAt = expiresAt
  if (sessionId !== undefined) identity.sessionId = sessionId
  if (endedAt !== undefined) identity.usage = usageOf(instance, endedAt)
  return identity
}

function usageOf({ failures, createdAt }: Instance, endedAt: number): Usage {
  return { attempt: failures + 1, durationMs: Math.max(0, endedAt - createdAt) }
}
