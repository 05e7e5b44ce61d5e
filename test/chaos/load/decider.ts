/**
 * A person who decides about held calls, through any node. Sometimes two decisions about one call are made at the same
 * moment, through two nodes, and differ.
 */
import { nowMs } from '../history.ts'
import type { Site } from './site.ts'

interface Approval {
  id: string
  args: { label: string }
}

const DENIED = 8

export async function decideAll(site: Site): Promise<void> {
  while (!site.isOver) {
    // All at once: one request to a node that is away must not hold up the others for longer than they can wait.
    await Promise.all((await listPending(site)).map((approval) => decideOne(site, approval)))
    await site.rest(300)
  }
}

async function decideOne(site: Site, approval: Approval): Promise<void> {
  const verdict = site.random(DENIED) === 0 ? 'deny' : 'approve'
  const hasRival = site.random(10) === 0
  const rival = hasRival ? decide(site, approval, verdict === 'deny' ? 'approve' : 'deny') : undefined
  await Promise.all([decide(site, approval, verdict), rival])
}

async function listPending(site: Site): Promise<readonly Approval[]> {
  const heard = await site.post('dora', '/call', { op: 'v1:callplane.approvals.list', args: { limit: 50 } })
  if (heard?.status !== 200) return []
  return (heard.body.result as { approvals: Approval[] } | undefined)?.approvals ?? []
}

async function decide(site: Site, { id, args }: Approval, verdict: 'approve' | 'deny'): Promise<void> {
  if (verdict === 'approve') site.history.approvalsAsked.push({ id, label: args.label })
  const heard = await site.post('dora', '/call', { op: 'v1:callplane.approvals.decide', args: { id, verdict } })
  site.history.count('decide')
  if (heard?.status !== 200 || heard.body.state !== 'complete') return
  const { status } = heard.body.result as { status: string }
  const decision = { id, label: args.label, asked: verdict, status, atMs: nowMs() }
  site.history.decisions.push(decision)
  site.history.write('decision', decision)
}
