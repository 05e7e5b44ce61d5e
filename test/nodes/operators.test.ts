/** Operators at one server act on the calls of another, and see the load of both. */
import { operation, type ServerOptions } from 'callplane'
import { expect, test, vi } from 'vitest'
import type { Done } from '../../src/engine/admin/calls/cancel.ts'
import type { Replayed } from '../../src/engine/admin/calls/replay.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { usePostgres } from '../engines/use-postgres.ts'
import { loadStory } from '../scenarios/operate/load-story.ts'
import { chunksOf, createShop, workAt } from '../scenarios/operate/operators.ts'
import { inPostgres } from '../scenarios/places.ts'
import { createGate, type Site } from '../scenarios/server.ts'
import { startNodes } from './sites.ts'

vi.setConfig({ testTimeout: 60_000 })

const REPLAY = 'v1:callplane.calls.replay'

interface Listed {
  calls: { id: string; requestId: string; state: string }[]
}

interface Details {
  call: { state: string }
  attempts: { attempt: number; outcome: string }[]
  replayOf?: string
  replays: string[]
}

describeWith(postgresServer, 'operators at two servers on one Postgres', () => {
  const postgres = usePostgres()

  async function open(options: Partial<ServerOptions> = {}) {
    const shop = createShop()
    const { operations, auth } = shop
    const sites = (await startNodes(postgres.server, { options: { operations, auth, ...options } })) as [Site, Site]
    const [here, there] = sites.map((site) => ({ ...site, ...workAt(site, shop) }))
    if (!here || !there) throw new Error('Two servers are needed.')
    const list = (at: typeof here, filter: object = {}) =>
      at.result<Listed>('reader', 'v1:callplane.calls.list', { operation: 'v1:shop.*', limit: 200, ...filter })
    const details = (at: typeof here, id: string) => at.result<Details>('reader', 'v1:callplane.calls.get', { id })
    return { shop, here, there, list, details }
  }

  test('replay the calls of one of them at both at once, each call once', async () => {
    const { shop, here, there } = await open({ limits: { openCallsPerCaller: 1_000 } })
    await here.make('ada', 'v1:shop.pay', 200)
    const first = (await there.dead('reader', { limit: 200 })).calls.map(({ id }) => id)
    shop.state.broken = false
    const all = { filter: { deadLetter: true }, expected: 200, as: 'owner', why: 'the bank is back' }
    const replay = async (at: typeof here): Promise<Replayed> => {
      const { body: asked } = await at.as('replayer', REPLAY, all)
      const { body } = await at.endedOf('replayer', asked.requestId)
      // The other server had begun before this one looked.
      if (body.error?.code === 'SELECTION_CHANGED') return { started: [], refused: [] }
      expect(body.error).toBeUndefined()
      return body.result as unknown as Replayed
    }

    const both = await Promise.all([replay(here), replay(there)])

    const started = both.flatMap((one) => one.started)
    const refusals = new Set(both.flatMap((one) => one.refused.map(({ code }) => code)))
    const ends = await Promise.all(
      started.map(({ requestId }, n) => (n % 2 === 0 ? here : there).endedOf('ada', requestId)),
    )
    expect(started.map(({ from }) => from).sort()).toEqual(first.sort())
    expect([...refusals].filter((code) => code !== 'ALREADY_REPLAYED')).toEqual([])
    expect(new Set(ends.map(({ body }) => body.state))).toEqual(new Set(['complete']))
    expect(shop.runs).toHaveLength(400)
    for (const at of [here, there]) expect((await at.dead()).calls).toEqual([])
  })

  test('replay a call by its id elsewhere, and both calls name each other everywhere', async () => {
    const { shop, here, there, list, details } = await open()
    await here.make('ada', 'v1:shop.pay', 1)
    const [first] = (await list(there)).calls
    const id = first?.id ?? ''
    shop.state.broken = false

    const { started } = await there.result<Replayed>('replayer', REPLAY, { ids: [id], as: 'owner', why: 'x' })

    const [replayed] = started
    expect((await here.endedOf('ada', replayed?.requestId ?? '')).body.state).toBe('complete')
    expect(await details(here, id)).toMatchObject({ replays: [replayed?.id] })
    expect(await details(here, replayed?.id ?? '')).toMatchObject({ replayOf: id, call: { state: 'complete' } })
  })

  test('dismiss dead letters of the other one', async () => {
    const { here, there } = await open()
    await here.make('ada', 'v1:shop.pay', 3)

    const filter = { owner: 'callplane|ada' }
    const { done } = await there.result<Done>('operator', 'v1:callplane.deadletters.dismiss', {
      filter,
      expected: 3,
      why: 'known',
    })

    expect(done).toHaveLength(3)
    for (const at of [here, there]) expect((await at.dead()).calls).toEqual([])
  })

  test('cancel by a filter what runs at either', async () => {
    const { here, there, list } = await open()
    const made = [await here.as('ada', 'v1:shop.stay'), await there.as('bob', 'v1:shop.stay')]

    const selected = { filter: { operation: 'v1:shop.stay' }, expected: 2, why: 'too many' }
    const { done, skipped } = await there.result<Done>('operator', 'v1:callplane.calls.cancel', selected)

    const ends = [
      await there.endedOf('ada', made[0]?.body.requestId ?? ''),
      await here.endedOf('bob', made[1]?.body.requestId ?? ''),
    ]
    expect(skipped).toEqual([])
    expect(done.sort()).toEqual((await list(here)).calls.map(({ id }) => id).sort())
    for (const { body } of ends) expect(body.error?.code).toBe('CANCELED')
  })

  test('export the calls of both, and read the file at either', async () => {
    const { shop, here, there, list } = await open()
    await Promise.all([here.make('ada', 'v1:shop.pay', 20), there.make('bob', 'v1:shop.refuse', 20)])
    const args = { what: 'calls', filter: { operation: 'v1:shop.*' }, format: 'jsonl' }
    const { headers } = shop.people.reader

    const { body } = await there.as('reader', 'v1:callplane.exports.create', args)
    await here.endedOf('reader', body.requestId)
    const [one, other] = [await chunksOf(here, body.requestId, headers), await chunksOf(there, body.requestId, headers)]

    const lines = one.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual((await list(here)).calls)
    expect(lines).toHaveLength(40)
    expect(other).toBe(one)
  })

  test('see the attempt of a server that was stopped, and the one of the server that took over', async () => {
    const gate = createGate<string>()
    const wait = (run: () => unknown) => operation('v1:shop.wait', { model: 'async', run })
    const shop = createShop()
    const options = { operations: [], auth: shop.auth, work: { stopGraceMs: 10 } }
    const each = [{ operations: [wait(() => gate.pass())] }, { operations: [wait(() => 'done')] }]
    const [one, two] = (await startNodes(postgres.server, { options, each })) as [Site, Site]
    const [here, there] = [workAt(one, shop), workAt(two, shop)]
    const { body } = await here.as('ada', 'v1:shop.wait')
    await gate.began

    await one.close(0)
    gate.open('too late')
    const ended = await there.endedOf('ada', body.requestId)
    const [call] = (await there.result<Listed>('reader', 'v1:callplane.calls.list', {})).calls
    const { attempts } = await there.result<Details>('reader', 'v1:callplane.calls.get', { id: call?.id ?? '' })

    expect(ended.body.result).toBe('done')
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'cut-off'],
      [2, 'complete'],
    ])
  })

  loadStory(async (options) => {
    const [here, there] = (await startNodes(postgres.server, {
      options: { ...options, ...inPostgres(postgres)() },
    })) as [Site, Site]
    return { here, there, metrics: [here, there] }
  })
})
