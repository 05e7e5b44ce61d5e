/** What the engine says about an instance. */
import { Fault } from './fault.ts'
import type { Instance, Outcome, Reply } from './model.ts'

/** A cadence no poll limit objects to, and short enough for a person who waits. */
const POLL_HINT_MS = 250

interface Identity {
  requestId: string
  sessionId?: string
  model: Instance['model']
  expiresAt?: number
}

/** `now` hides an expiry that has passed: such an outcome is not retained, so there is nothing to come back for. */
export function replyTo(instance: Instance, now: number): Reply {
  const identity = identityOf(instance, now)
  if (instance.outcome) return replyWith(identity, instance.outcome)
  return {
    ...identity,
    state: instance.state === 'accepted' ? 'accepted' : 'pending',
    retryAfterMs: POLL_HINT_MS,
    ...(instance.progress && { progress: instance.progress }),
  }
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

function identityOf({ requestId, sessionId, model, expiresAt }: Instance, now: number): Identity {
  return { requestId, model, ...(expiresAt > now && { expiresAt }), ...(sessionId !== undefined && { sessionId }) }
}
