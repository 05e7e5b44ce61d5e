/** A check foresees what a call with a used key gets. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import type { Check } from '../../../../src/engine/admin/calls/check.ts'
import { openDesk, PEOPLE } from '../../approving.ts'
import type { NewPlace } from '../../places.ts'
import { createGate } from '../../server.ts'

export function keyStories(newPlace: NewPlace): void {
  test('a call with a used key would join the first one, and with other input it would be refused', async () => {
    const ran: unknown[] = []
    const gate = createGate()
    const pay = operation('v1:shop.pay', {
      model: 'async',
      sideEffecting: true,
      run: (given) => {
        ran.push(given)
        return gate.pass()
      },
    })
    const look = operation('v1:shop.look', { run: () => 'seen' })
    const desk = await openDesk({ ...newPlace(), operations: [pay, look] })
    const args = { amount: 5, to: 'ada' }
    const first = await desk.as('agent', 'v1:shop.pay', args, { requestId: 'r1', idempotencyKey: 'k' })
    const check = async (given: object, key = 'k', who: 'agent' | 'root' = 'agent', op = 'v1:shop.pay') =>
      (await desk.as(who, 'v1:callplane.calls.check', { op, args: given, key })).body.result as unknown as Check

    const same = [await check(args), await check({ to: 'ada', amount: 5 })]
    const other = await check({ amount: 6, to: 'ada' })
    const free = [
      await check(args, 'k2'),
      await check(args, 'k', 'root'),
      await check({}, 'k', 'agent', 'v1:shop.look'),
    ]
    gate.open('paid')
    await desk.ended('r1', PEOPLE.agent.headers)
    const after = await check(args)
    const joined = await desk.as('agent', 'v1:shop.pay', args, { requestId: 'r2', idempotencyKey: 'k' })
    const refused = await desk.as('agent', 'v1:shop.pay', { amount: 6, to: 'ada' }, { idempotencyKey: 'k' })

    expect(first.body.error).toBeUndefined()
    const [id] = same.map(({ wouldJoin }) => wouldJoin)
    const { body } = await desk.as('root', 'v1:callplane.calls.get', { id })
    expect(body.result).toMatchObject({ call: { id, requestId: 'r1', idempotencyKey: 'k' } })
    for (const seen of [...same, after]) expect(seen).toMatchObject({ valid: true, effects: 'once', wouldJoin: id })
    for (const seen of [other, ...free]) expect(seen).not.toHaveProperty('wouldJoin')
    for (const seen of free) expect(seen).not.toHaveProperty('refusal')
    expect(other.refusal?.code).toBe(refused.body.error?.code)
    expect(other.refusal?.code).toBe('IDEMPOTENCY_KEY_REUSED')
    expect(joined.body).toMatchObject({ state: 'complete', result: 'paid' })
    expect(ran).toEqual([args])
  })
}
