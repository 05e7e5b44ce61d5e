/**
 * Calls in a protocol that cannot wait for an approval (OXP): the client sends the same call again until it is approved.
 * Each client then sends the call once more under another id: that needs an approval of its own.
 */
import type { ChaosCall } from '../history.ts'
import { CALLERS, type Subject } from './callers.ts'
import { type Heard, isPassing, type Site } from './site.ts'

interface OxpReply {
  value?: unknown
  missing_requirements?: object
  message?: string
}

export async function pursueGrant(site: Site): Promise<void> {
  const label = site.newLabel('grant')
  const caller = CALLERS[site.random(CALLERS.length)] as Subject
  const args = { label, ms: site.random(60), fail: 'never' }
  for (const id of [`${label}.1`, `${label}.2`]) {
    const call = site.history.newCall({
      requestId: id,
      label,
      kind: 'grant',
      caller,
      effect: 'repeatable',
      mayFailWith: ['DENIED', 'PANIC_CUT_OFF'],
    })
    for (;;) {
      if (site.isOver) return
      const heard = await site.post<OxpReply>(caller, '/tools/call', {
        tool_id: 'Chaos.Held',
        call_id: id,
        input: args,
      })
      if (heard && !isPassing(heard) && noteReply(site, call, heard)) break
      await site.rest(400)
    }
  }
}

/** True if it has run or was denied. */
function noteReply(site: Site, call: ChaosCall, { status, body, node, sentMs, heardMs }: Heard<OxpReply>): boolean {
  // This protocol has no status for a storage that is away, or a node that ends.
  if (body.missing_requirements || /storage cannot be reached|shutting down/.test(body.message ?? '')) return false
  const seen = { via: 'reply' as const, node, sentMs, heardMs }
  if (status === 200) site.history.saw(call, { ...seen, state: 'complete', outcome: JSON.stringify(body.value) })
  else if (/denied/i.test(body.message ?? '')) site.history.saw(call, { ...seen, state: 'error', outcome: 'DENIED' })
  else {
    const { label } = call
    site.history.find(`${label} was refused by OXP: ${status} ${body.message}`)
  }
  return true
}
