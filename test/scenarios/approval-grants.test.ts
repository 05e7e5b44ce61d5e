/**
 * Held calls in protocols that cannot wait for an approval: they end without running, and the approval permits one
 * repeat.
 */
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { onlyOne, openDesk, PEOPLE } from './approving.ts'
import { type OxpAnswer, oxpClient } from './oxp.ts'
import { createStepClock } from './server.ts'

const { headers } = PEOPLE.agent

interface ContractAnswer {
  status: string
  output?: unknown
  error?: { code: string; reason: string; retryable: boolean; details: Record<string, unknown> }
  usage: { attempt: number }
}

function contractClient(url: string) {
  return async (id: string, amount: number): Promise<ContractAnswer> => {
    const response = await fetch(`${url}/tool-contract/v1/execute`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({
        tool_contract_version: 'v1',
        request_id: id,
        tool: { name: 'orders_refund' },
        input: { amount },
      }),
    })
    return (await response.json()) as ContractAnswer
  }
}

function challengeIn({ body }: OxpAnswer): { id: string; url: string; check_url: string } {
  return body.missing_requirements.authorization[0]
}

test('OXP: 400 with where to ask; once approved, the same call runs once, and another one does not', async () => {
  const desk = await openDesk()
  const oxp = oxpClient(desk.url)
  const refund = (amount: number, more = {}) => oxp.call('orders.refund', { amount }, more, headers)
  const check = async (url: string) => (await (await fetch(url)).json()) as unknown

  const first = await refund(500)
  const { check_url: url } = challengeIn(first)
  const before = await check(url)
  const same = await refund(500)
  await desk.decide((await onlyOne(desk)).id)
  const after = await check(url)
  const other = await refund(501)
  const repeated = await refund(500)
  const third = await refund(500)

  expect(first.status).toBe(400)
  expect(challengeIn(first)).toMatchObject({ id: 'callplane:approval', check_url: expect.stringContaining(desk.url) })
  expect(challengeIn(same).check_url).toBe(url)
  expect([before, after]).toEqual([{ status: 'pending' }, { status: 'completed' }])
  expect(await check(url.replace('signature=', 'signature=A'))).toEqual({ status: 'failed' })
  expect(repeated).toMatchObject({ status: 200, body: { success: true, value: { refunded: 500 } } })
  for (const asking of [other, third]) {
    expect(asking.status).toBe(400)
    expect(challengeIn(asking).check_url).not.toBe(url)
  }
  expect(desk.ran).toEqual([{ amount: 500 }])
})

test('OXP: a refusal is not stored under the call_id; the run is stored, and does not run again', async () => {
  const desk = await openDesk()
  const oxp = oxpClient(desk.url)
  const refund = () => oxp.call('orders.refund', { amount: 500 }, { call_id: 'c1' }, headers)

  const refused = await refund()
  await desk.decide((await onlyOne(desk)).id)
  const ran = await refund()
  const again = await refund()

  expect(refused.status).toBe(400)
  for (const { body } of [ran, again]) expect(body).toMatchObject({ success: true, value: { refunded: 500 } })
  expect(desk.ran).toHaveLength(1)
  expect(await desk.waiting()).toEqual([])
})

test('OTC says in its message where to ask, and a denial in its own', async () => {
  const desk = await openDesk()
  const send = () =>
    oxpClient(desk.url).send({ request: { tool_id: 'orders.refund', input: { amount: 500 } } }, headers)

  const pending = await send()
  await desk.decide((await onlyOne(desk)).id, 'deny')
  const denied = await send()
  const anew = await send()

  expect(pending.body.message).toMatch(/needs an approval.*\/approvals\/.*\/status/)
  expect(denied).toMatchObject({ status: 400, body: { message: expect.stringContaining('was denied: looked at it') } })
  expect(anew.body.message).toContain('needs an approval')
  expect(desk.ran).toEqual([])
})

test('Contract: approval_pending until it is given, then the same request runs, once', async () => {
  verifies('contract:102', 'contract:105')
  const desk = await openDesk()
  const execute = contractClient(desk.url)

  const pending = await execute('r1', 500)
  const { id } = await onlyOne(desk)
  await desk.decide(id)
  const other = await execute('r2', 501)
  const ran = await execute('r1', 500)
  const joined = await execute('r1', 500)
  const anew = await execute('r3', 500)

  expect(pending).toMatchObject({
    status: 'error',
    error: {
      code: 'approval_pending',
      reason: 'tool_approval_pending',
      retryable: false,
      details: { approval_id: id, rule: 'policy#large-refunds' },
    },
  })
  for (const answer of [ran, joined]) {
    expect(answer).toMatchObject({ status: 'ok', output: { refunded: 500 }, usage: { attempt: 1 } })
  }
  for (const { error } of [other, anew]) expect(error?.code).toBe('approval_pending')
  expect(desk.ran).toEqual([{ amount: 500 }])
})

test('Contract: a denied and an expired approval are reported once; the next request asks for a new approval', async () => {
  verifies('contract:103', 'contract:104', 'contract:068', 'contract:069', 'contract:071')
  const clock = createStepClock()
  const desk = await openDesk({ clock })
  const execute = contractClient(desk.url)

  await execute('r1', 500)
  await desk.decide((await onlyOne(desk)).id, 'deny')
  const denied = await execute('r1', 500)
  await execute('r1', 500)
  clock.advance(600_000)
  const expired = await execute('r1', 500)
  const anew = await execute('r1', 500)

  expect(denied).toMatchObject({
    status: 'denied',
    error: { code: 'approval_denied', reason: 'tool_approval_denied', retryable: false },
  })
  expect(expired).toMatchObject({
    status: 'denied',
    error: { code: 'approval_timeout', reason: 'tool_approval_timeout', retryable: false },
  })
  expect(anew.error?.code).toBe('approval_pending')
  expect(desk.ran).toEqual([])
})

test('Contract: a denial names the policy and its rule, and is retryable only if the rule says so', async () => {
  verifies('contract:068', 'contract:069', 'contract:070', 'contract:071')
  const refusing = (retryable?: boolean) => ({
    default: 'allow' as const,
    rules: [{ id: 'never', effect: 'deny' as const, ...(retryable && { retryable }) }],
  })
  const strict = contractClient((await openDesk({ policy: refusing() })).url)
  const lenient = contractClient((await openDesk({ policy: refusing(true) })).url)

  const [refused, retryable] = [await strict('r1', 500), await lenient('r1', 500)]

  expect(refused).toMatchObject({
    status: 'denied',
    error: {
      code: 'permission_denied',
      reason: 'tool_permission_denied',
      retryable: false,
      details: { policy_ref: 'policy', rule: 'policy#never' },
    },
  })
  expect(retryable).toMatchObject({ status: 'denied', error: { retryable: true } })
})

test('REST: a result that says that it waits for an approval, and the same call again runs', async () => {
  const desk = await openDesk({ rest: { allowExecute: true } })
  const call = async () => {
    const response = await desk.request('/tools/orders_refund/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ amount: 500 }),
    })
    return (await response.json()) as { isError: boolean; content: [{ text: string }]; structuredContent: object }
  }

  const pending = await call()
  await desk.decide((await onlyOne(desk)).id)
  const ran = await call()

  expect(pending).toMatchObject({ isError: true, structuredContent: { code: 'APPROVAL_PENDING' } })
  expect(pending.content[0].text).toContain('needs an approval')
  expect(ran).toMatchObject({ isError: false, structuredContent: { refunded: 500 } })
})

test('an approval that is not used in time expires', async () => {
  const clock = createStepClock()
  const desk = await openDesk({ clock })
  const execute = contractClient(desk.url)
  await execute('r1', 500)
  await desk.decide((await onlyOne(desk)).id)

  clock.advance(600_000)
  const late = await execute('r1', 500)

  expect(late.error?.code).toBe('approval_pending')
  expect(desk.ran).toEqual([])
})
