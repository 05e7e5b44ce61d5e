/** Who called, when, for how long, and what it is related to. */
import type { CallDetails } from '../api/types.ts'
import { CopiedText, type Fact, FactList } from '../design/fact-list.tsx'
import { durationOf, Time } from '../design/time.tsx'
import { href } from '../routes.ts'
import { personOf } from '../runs/people.ts'
import { texts } from '../texts/en/run.ts'
import './run.css'

export function Facts({ details }: { details: CallDetails }) {
  const { call, replayOf } = details
  const facts: Fact[] = [
    [texts.facts.caller, <span title={call.owner}>{personOf(call.owner, call.userId)}</span>],
    [texts.facts.started, <Time at={call.createdAt} precise />],
    [texts.facts.ended, call.endedAt && <Time at={call.endedAt} precise />],
    [texts.facts.duration, call.durationMs !== undefined && durationOf(call.durationMs)],
    [texts.facts.risk, call.risk],
    [texts.facts.parent, call.parent && <RunLink id={call.parent} />],
    [texts.facts.replayOf, replayOf && <RunLink id={replayOf} />],
    [texts.facts.requestId, <CopiedText text={call.requestId} />],
    [texts.facts.key, call.idempotencyKey && <CopiedText text={call.idempotencyKey} />],
    [texts.facts.session, call.sessionId && <CopiedText text={call.sessionId} />],
    [texts.facts.expires, <Time at={call.expiresAt} precise />],
  ]
  return <FactList facts={facts} />
}

function RunLink({ id }: { id: string }) {
  return (
    <a class="mono" href={href('run', { id })}>
      {id}
    </a>
  )
}
