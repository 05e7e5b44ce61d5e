/**
 * Stories about approvals: a call waits for one or uses one, a person decides, no person decides, the call is canceled.
 */
import { createToken, operation, type ServerOptions } from 'callplane'
import { z } from 'zod'
import type { PointStory } from './every-point.ts'
import type { Life } from './world.ts'

const AGENT = person('agent', [])
const BOSS = person('boss', ['callplane:approve'])

function person(subject: string, scopes: readonly string[]) {
  const { token, hash } = createToken()
  return {
    headers: { Authorization: `Bearer ${token}` },
    entry: { hash, kind: 'bearer' as const, subject, scopes, tenant: 'main' },
  }
}

export const APPROVAL_MS = 20_000

/** `v1:desk.refund` needs an approval; it may ask its caller a question first. */
export function officeOf(life: Life): Partial<ServerOptions> {
  const sure = { kind: 'form' as const, message: 'Sure?', schema: { type: 'object', required: ['sure'] } }
  const args = z.object({ n: z.number() })
  return {
    operations: [
      operation('v1:desk.refund', {
        model: 'async',
        args,
        run: ({ n }) => {
          life.note(`refund ${n}`)
          return { refunded: n }
        },
      }),
      operation('v1:desk.look', {
        args,
        run: ({ n }) => {
          life.note(`look ${n}`)
          return { seen: n }
        },
      }),
      operation('v1:desk.ask', {
        model: 'async',
        requires: { answers: { sure } },
        args,
        run: ({ n }) => {
          life.note(`ask ${n}`)
          return { refunded: n }
        },
      }),
    ],
    auth: { tokens: [AGENT.entry, BOSS.entry] },
    policy: {
      default: 'deny',
      rules: [{ id: 'all', effect: 'approve', approval: { ttlSeconds: APPROVAL_MS / 1000 } }],
    },
    work: { leaseMs: 30_000, claimEveryMs: 60_000 },
    limits: { pollBurst: 100_000 },
  }
}

export async function hold(life: Life, requestId = 'r1', n = 1, key?: string) {
  const ctx = { requestId, ...(key !== undefined && { idempotencyKey: key }) }
  return (await life.request('/call', { op: 'v1:desk.refund', args: { n }, ctx }, AGENT.headers)).body
}

/** In a protocol that cannot wait for approvals. */
export async function use(life: Life, n = 1, callId?: string, tool = 'desk.refund') {
  const more = callId === undefined ? {} : { call_id: callId }
  return life.request('/tools/call', { tool_id: tool, input: { n }, ...more }, AGENT.headers)
}

export async function decide(life: Life, verdict: 'approve' | 'deny'): Promise<void> {
  const asBoss = async (op: string, args: object) =>
    (await life.request('/call', { op: `v1:callplane.approvals.${op}`, args }, BOSS.headers)).body
  const { result } = await asBoss('list', {})
  for (const { id } of result.approvals) await asBoss('decide', { id, verdict })
}

export async function ended(life: Life, requestId = 'r1') {
  return life.until(async () => {
    const { body } = await life.request(`/ops/${requestId}`, undefined, AGENT.headers)
    return body.state === 'complete' || body.state === 'error' ? body : undefined
  }, 50)
}

export function cancel(life: Life, requestId = 'r1') {
  return life.request(`/ops/${requestId}`, undefined, AGENT.headers, 'DELETE')
}

/** Sends until the call is allowed, and returns the last reply. */
async function useUntilRun(life: Life, callId?: string, tool?: string): Promise<unknown> {
  const first = await use(life, 1, callId, tool)
  if (first.status === 200) return first.body
  await decide(life, 'approve')
  return (await use(life, 1, callId, tool)).body
}

const story = (
  name: string,
  tell: (life: Life) => Promise<unknown>,
  outcome: object,
  runs: readonly [number, number],
): PointStory => ({ name, options: officeOf, tell, outcome, runs })

const COMPLETE = { state: 'complete', result: { refunded: 1 } }

export const APPROVAL_STORIES: readonly PointStory[] = [
  story(
    'held, approved and run',
    async (life) => {
      await hold(life)
      await decide(life, 'approve')
      return ended(life)
    },
    COMPLETE,
    [1, 2],
  ),
  story(
    'held and denied',
    async (life) => {
      await hold(life)
      await decide(life, 'deny')
      return ended(life)
    },
    { state: 'error', error: { code: 'APPROVAL_DENIED' } },
    [0, 0],
  ),
  story(
    'held and canceled',
    async (life) => {
      await hold(life)
      await cancel(life)
      return ended(life)
    },
    { state: 'error', error: { code: 'CANCELED' } },
    [0, 0],
  ),
  story(
    'held and not decided in time',
    async (life) => {
      await hold(life)
      await life.quiet()
      life.clock.advance(APPROVAL_MS)
      return ended(life)
    },
    { state: 'error', error: { code: 'APPROVAL_TIMEOUT' } },
    [0, 0],
  ),
  story(
    'held twice under one key, approved and run',
    async (life) => {
      await hold(life, 'r1', 1, 'k')
      await hold(life, 'r2', 1, 'k')
      await decide(life, 'approve')
      await ended(life, 'r2')
      return ended(life)
    },
    COMPLETE,
    [1, 2],
  ),
  story('used by a call with an id', (life) => useUntilRun(life, 'c1'), { success: true }, [1, 2]),
  story('used by a call without an id', (life) => useUntilRun(life), {}, [1, 2]),
  {
    ...story(
      'used by a call that is not recorded',
      (life) => useUntilRun(life, undefined, 'desk.look'),
      { success: true },
      [1, 2],
    ),
    rules: { unrecordedUse: true },
  },
  story(
    'denied to a call that cannot wait',
    async (life) => {
      await use(life)
      await decide(life, 'deny')
      return (await use(life)).body
    },
    {},
    [0, 0],
  ),
  story(
    'not decided in time for a call that cannot wait',
    async (life) => {
      await use(life)
      life.clock.advance(APPROVAL_MS)
      await use(life)
      return (await use(life)).body
    },
    {},
    [0, 0],
  ),
]
