/** A server whose policy holds refunds above 100, callers who request refunds, and people who decide. */
import { createToken, operation, type PolicyDefinition, type ServerOptions } from 'callplane'
import { expect } from 'vitest'
import type { ApprovalView } from '../../src/engine/admin/approval-view.ts'
import { type Answered, type Site, startSite } from './server.ts'

export const PEOPLE = {
  agent: person('agent', []),
  another: person('another', []),
  boss: person('boss', ['callplane:approve']),
  root: person('root', ['*', 'callplane:admin']),
  stranger: person('stranger', ['callplane:admin'], 'elsewhere'),
}

type Name = keyof typeof PEOPLE

function person(subject: string, scopes: readonly string[], tenant = 'main') {
  const { token, hash } = createToken()
  return { headers: { Authorization: `Bearer ${token}` }, entry: { hash, kind: 'bearer', subject, scopes, tenant } }
}

export const policy: PolicyDefinition = {
  default: 'allow',
  rules: [
    {
      id: 'large-refunds',
      effect: 'approve',
      what: { operation: 'v1:orders.refund' },
      when: { path: 'amount', gt: 100 },
      reason: 'Refunds above 100 need a second person.',
    },
  ],
}

export interface Desk extends Site {
  /** Arguments of the handler's runs, in order. */
  ran: unknown[]
  /** Sends a call as this person. */
  as(who: Name, op: string, args?: object, ctx?: object): Promise<Answered>
  refund(amount: number, ctx?: object): Promise<Answered>
  /** The pending approvals, as a person who may decide sees them. */
  waiting(who?: Name): Promise<ApprovalView[]>
  decide(id: string, verdict?: 'approve' | 'deny', who?: Name): Promise<Answered>
  outcome(requestId: string): Promise<Answered>
}

export async function openDesk(options: Partial<ServerOptions> = {}): Promise<Desk> {
  const ran: unknown[] = []
  const refund = operation('v1:orders.refund', {
    args: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
    model: 'async',
    retry: { attempts: 2, backoffMs: 1 },
    run: (args) => {
      ran.push(args)
      return { refunded: args.amount }
    },
  })
  const tokens = Object.values(PEOPLE).map(({ entry }) => ({ ...entry, kind: 'bearer' as const }))
  const site = await startSite({ operations: [refund], auth: { tokens }, policy, ...options })
  const as: Desk['as'] = (who, op, args = {}, ctx = {}) => site.call(op, args, ctx, { headers: PEOPLE[who].headers })
  return {
    ...site,
    ran,
    as,
    refund: (amount, ctx) => as('agent', 'v1:orders.refund', { amount }, ctx),
    async waiting(who = 'boss') {
      const { body } = await as(who, 'v1:callplane.approvals.list')
      expect(body.error).toBeUndefined()
      return (body.result as unknown as { approvals: ApprovalView[] }).approvals
    },
    decide: (id, verdict = 'approve', who = 'boss') =>
      as(who, 'v1:callplane.approvals.decide', { id, verdict, why: 'looked at it' }),
    outcome: (requestId) => site.ended(requestId, PEOPLE.agent.headers),
  }
}

/** Returns the only pending approval. */
export async function onlyOne(desk: Desk): Promise<ApprovalView> {
  const [one, ...others] = await desk.waiting()
  expect(others).toEqual([])
  return one as ApprovalView
}
