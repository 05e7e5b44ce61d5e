/** A server whose store has its own clock: every stored time follows that clock, not the node's. */
import { join } from 'node:path'
import { Fault, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createGate, createStepClock, startSite, temporaryFolder } from './server.ts'

const HOUR = 3_600_000

/** The node's clock is `wrongByMs` away from the store's; both pass time at the same rate. */
async function siteWith(wrongByMs: number, operations: Parameters<typeof startSite>[0]['operations']) {
  const clock = createStepClock()
  const ofStore = { ...clock, now: () => clock.now() - wrongByMs }
  const data = temporaryFolder()
  const store = createSqliteStore({ file: join(data, 'callplane.db'), clock: ofStore })
  return { clock, ofStore, store, site: await startSite({ operations, clock, data, store }) }
}

for (const [how, wrongByMs] of [
  ['ahead', HOUR],
  ['behind', -HOUR],
] as const) {
  test(`a call on a node an hour ${how} is kept for its ttl by the store's clock`, async () => {
    const count = operation('v1:rows.count', { model: 'async', ttlSeconds: 60, run: () => 7 })
    const { clock, ofStore, site } = await siteWith(wrongByMs, [count])
    const expiresAt = ofStore.now() / 1000 + 60

    const accepted = await site.call('v1:rows.count', {}, { requestId: 'count-1' })
    await site.ended('count-1')
    clock.advance(59_999)
    const last = await site.poll('count-1')
    clock.advance(1)
    const gone = await site.poll('count-1')

    expect(accepted.body.expiresAt).toBe(expiresAt)
    expect([last.status, gone.status]).toEqual([200, 404])
  })

  test(`a retry on a node an hour ${how} starts after its back-off`, async () => {
    const tries: number[] = []
    const flaky = operation('v1:rows.fetch', {
      model: 'async',
      retry: { attempts: 2, backoffMs: 200 },
      run(_args, ctx) {
        tries.push(clock.monotonicMs())
        if (ctx.attempt === 1) throw new Fault('upstream', 'The upstream is down.')
        return 'rows'
      },
    })
    const { clock, site } = await siteWith(wrongByMs, [flaky])

    await site.call('v1:rows.fetch', {}, { requestId: 'fetch-1' })
    await clock.timer(200)
    clock.advance(200)
    const ended = await site.ended('fetch-1')

    expect(ended.body.result).toBe('rows')
    expect(tries).toEqual([0, 200])
  })

  test(`a lease that a node an hour ${how} holds is not claimed by another node before it expires`, async () => {
    const gate = createGate<number>()
    const slow = operation('v1:rows.scan', { model: 'async', run: () => gate.pass() })
    const { site, store } = await siteWith(wrongByMs, [slow])
    await site.call('v1:rows.scan', {}, { requestId: 'scan-1' })

    const claimed = await store.claim({ operations: ['v1:rows.scan@1.0.0'], limit: 10, leaseMs: 30_000 })
    gate.open(1)

    expect(claimed.instances).toEqual([])
    expect(await site.ended('scan-1')).toMatchObject({ body: { state: 'complete', result: 1 } })
  })

  test(`a node an hour ${how} compares the date of a callback with its own clock`, async () => {
    const { clock, ofStore, site } = await siteWith(wrongByMs, [])
    const send = async (now: number) => {
      const headers = { 'x-timestamp': String(Math.floor(now / 1000)), 'x-signature': '0'.repeat(64) }
      return (await site.request('/v1/tool-callbacks/unknown', { method: 'POST', headers, body: '{}' })).status
    }

    expect([await send(clock.now()), await send(ofStore.now())]).toEqual([404, 401])
  })
}
