/** The audit trail at the end of a run, as an auditor reads it: one entry for every call that ended. */
import { type ChaosCall, isEnd } from '../history.ts'
import type { Site } from '../load/site.ts'

interface Entry {
  id: string
  owner: string
  requestId: string
  operation: string
  outcome: string
}

const PAGE = 200
/** The newest of a long run. */
const MOST_PAGES = 100

export async function readTrail(site: Site): Promise<{ entries: Entry[]; isWhole: boolean }> {
  const entries: Entry[] = []
  let before: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const args = { limit: PAGE, ...(before !== undefined && { before }) }
    const heard = await site.post('dora', '/call', { op: 'v1:callplane.audit.list', args })
    if (heard?.status !== 200) {
      site.history.find(`the audit trail cannot be read: ${heard?.status} ${heard?.body.error?.code}`)
      break
    }
    const { entries: read, next } = heard.body.result as unknown as { entries: Entry[]; next?: string }
    entries.push(...read)
    before = next
    if (next === undefined) return { entries, isWhole: true }
  }
  return { entries, isWhole: false }
}

export function trailProblems(
  { entries, isWhole }: { entries: readonly Entry[]; isWhole: boolean },
  calls: readonly ChaosCall[],
): string[] {
  const byId = Map.groupBy(entries, ({ id }) => id)
  const byCall = Map.groupBy(entries, ({ owner, requestId }) => `${owner} ${requestId}`)
  const first = Map.groupBy(calls, ({ label }) => label)
  return [
    ...[...byId]
      .filter(([, same]) => same.length > 1)
      .map(([id, same]) => `the trail has ${same.length} entries of the call ${id}`),
    ...calls.flatMap((call) => {
      const { requestId, label, caller, kind, sightings } = call
      const end = sightings.find(isEnd)
      // A repeat of a key has no call of its own, and so no entry.
      if (!end || kind === 'grant' || (first.get(label)?.length ?? 0) > 1) return []
      const entry = byCall.get(`callplane|${caller} ${requestId}`)?.[0]
      const name = `${requestId} (${label})`
      if (!entry) return isWhole ? [`${name} has ended, and is not in the trail`] : []
      const agrees = (entry.outcome === 'complete') === (end.state === 'complete')
      return agrees ? [] : [`${name} was ${end.state}, and the trail says ${entry.outcome}`]
    }),
  ]
}
