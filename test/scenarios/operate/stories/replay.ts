/** An operator runs ended calls again: as new calls, each once, under the policy of now. */
import { join } from 'node:path'
import { Fault, operation, type PolicyDefinition, type ServerOptions } from 'callplane'
import { expect, test } from 'vitest'
import type { Replayed } from '../../../../src/engine/admin/calls/replay.ts'
import { createFileObjects } from '../../../../src/objects/files/index.ts'
import { systemClock } from '../../../../src/server/build/environment.ts'
import type { NewPlace } from '../../places.ts'
import { openWorks } from '../operators.ts'

const REPLAY = 'v1:callplane.calls.replay'

export function replayStories(newPlace: NewPlace): void {
  const open = (options: Partial<ServerOptions> = {}) => openWorks(options, newPlace)

  test('a failed call runs again as its owner, as a new call that names the first one', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 1)
    const [first] = await works.ids()
    works.state.broken = false

    const { started, refused } = await works.result<Replayed>('replayer', REPLAY, {
      ids: [first],
      as: 'owner',
      why: 'x',
    })

    expect(refused).toEqual([])
    expect(started).toEqual([{ from: first, id: expect.any(String), requestId: started[0]?.id }])
    const { body } = await works.endedOf('ada', started[0]?.requestId ?? '')
    expect(body).toMatchObject({ state: 'complete', result: { paid: true } })
    expect(works.runs.map(({ by }) => by)).toEqual(['ada', 'ada'])
    const stored = await works.stored(started[0]?.id ?? '')
    expect(stored).toMatchObject({ args: { n: 0 }, extras: { replayOf: first, replayedBy: 'callplane|replayer' } })
    expect(await works.ids('main', { replayOf: first as string })).toEqual([started[0]?.id])
  })

  test('a replay as oneself runs for the replayer, also with other arguments', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 1)
    const [first] = await works.ids()
    works.state.broken = false

    const args = { ids: [first], as: 'me', args: { n: 7 }, why: 'x' }
    const { started } = await works.result<Replayed>('replayer', REPLAY, args)

    await works.endedOf('replayer', started[0]?.requestId ?? '')
    expect(works.runs.at(-1)).toEqual({ by: 'replayer', args: { n: 7 } })
  })

  test('other arguments are refused for several calls, and for a call of another caller as its owner', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 2)
    const ids = await works.ids()
    const edit = { args: { n: 7 }, why: 'x' }

    const several = await works.as('replayer', REPLAY, { ...edit, ids, as: 'me' })
    const { body } = await works.endedOf('replayer', several.body.requestId)
    const other = await works.result<Replayed>('replayer', REPLAY, { ...edit, ids: [ids[0]], as: 'owner' })

    expect(body.error?.code).toBe('VALIDATION_ERROR')
    expect(other).toMatchObject({ started: [], refused: [{ id: ids[0], code: 'EDITED_FOR_OTHER' }] })
    expect(works.runs).toHaveLength(2)
  })

  test('a repeated replay request starts nothing twice', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 3)
    const ids = await works.ids()
    works.state.broken = false
    const again = () =>
      works.result<Replayed>('replayer', REPLAY, { ids, as: 'owner', why: 'x' }, { idempotencyKey: 'the-replay' })

    const [one, other] = await Promise.all([again(), again()])

    expect(other).toEqual(one)
    expect(await works.ids()).toHaveLength(6)
  })

  test('a thousand dead letters are replayed by a filter, each once, by two people at once', {
    timeout: 60_000,
  }, async () => {
    const works = await open({ limits: { openCallsPerCaller: 5_000, queuedCalls: 5_000 } })
    await works.make('ada', 'v1:shop.pay', 500)
    await works.make('bob', 'v1:shop.pay', 500)
    const first = new Set(await works.ids())
    works.state.broken = false
    const all = {
      filter: { deadLetter: true, operation: 'v1:shop.*' },
      expected: 1_000,
      as: 'owner',
      why: 'the bank is back',
    }

    const replay = async (): Promise<Replayed> => {
      const { body: asked } = await works.as('replayer', REPLAY, all)
      const { body } = await works.endedOf('replayer', asked.requestId)
      // The other one had begun before this one looked.
      if (body.error?.code === 'SELECTION_CHANGED') return { started: [], refused: [] }
      expect(body.error).toBeUndefined()
      return body.result as unknown as Replayed
    }
    const [one, other] = await Promise.all([replay(), replay()])

    const started = [...one.started, ...other.started]
    expect(new Set(started.map(({ from }) => from))).toEqual(first)
    expect(started).toHaveLength(1_000)
    for (const { code } of [...one.refused, ...other.refused]) expect(code).toBe('ALREADY_REPLAYED')
    for (const { requestId, from } of started.slice(0, 20)) {
      const who = (await works.stored(from))?.caller.subject as 'ada' | 'bob'
      expect((await works.endedOf(who, requestId)).body.state).toBe('complete')
    }
    expect(await works.ids()).toHaveLength(2_000)
    expect((await works.dead()).calls).toEqual([])
  })

  test('a thousand calls are replayed by their ids, each once, although every request is sent twice', {
    timeout: 60_000,
  }, async () => {
    const works = await open({ limits: { openCallsPerCaller: 5_000, queuedCalls: 5_000 } })
    await works.make('ada', 'v1:shop.pay', 1_000)
    const first = await works.ids()
    works.state.broken = false
    const replay = (ids: readonly string[], idempotencyKey: string) =>
      works.result<Replayed>('replayer', REPLAY, { ids, as: 'owner', why: 'x' }, { idempotencyKey })

    const started: Replayed['started'] = []
    for (let at = 0; at < first.length; at += 200) {
      const ids = first.slice(at, at + 200)
      const [one, other] = await Promise.all([replay(ids, `part-${at}`), replay(ids, `part-${at}`)])
      expect(other).toEqual(one)
      expect(one.refused).toEqual([])
      started.push(...one.started)
    }
    await works.endedOf('ada', started.at(-1)?.requestId ?? '')

    expect(started.map(({ from }) => from)).toEqual(first)
    expect(await works.ids()).toHaveLength(2_000)
    await expect.poll(() => works.runs.length).toBe(2_000)
  })

  test('the policy decides again, and neither an old approval nor the replayer counts', async () => {
    const rule = { id: 'second-person', effect: 'approve' as const, what: { operation: 'v1:shop.pay' } }
    const policy: PolicyDefinition = { default: 'allow', rules: [rule] }
    const works = await open({ policy })
    const { body: made } = await works.as('ada', 'v1:shop.pay', { n: 1 })
    const waiting = async () => {
      const { body } = await works.as('operator', 'v1:callplane.approvals.list')
      return (body.result as { approvals: { id: string; caller: string }[] }).approvals
    }
    const decide = async (who: 'operator' | 'replayer', id: string) =>
      (await works.as(who, 'v1:callplane.approvals.decide', { id, verdict: 'approve' })).body
    await decide('operator', (await waiting())[0]?.id ?? '')
    await works.endedOf('ada', made.requestId)
    const [first] = await works.ids()
    works.state.broken = false

    const { started } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })

    expect(works.runs).toHaveLength(1)
    const [held] = await waiting()
    expect(held).toMatchObject({ id: started[0]?.id, caller: 'callplane|ada' })
    expect((await decide('replayer', held?.id ?? '')).error?.code).toBe('SELF_APPROVAL')
    expect((await decide('operator', held?.id ?? '')).error).toBeUndefined()
    expect((await works.endedOf('ada', started[0]?.requestId ?? '')).body.state).toBe('complete')
  })

  test('open and unknown calls, and calls whose secrets are gone, are refused with the reason', async () => {
    const signed: string[] = []
    const sign = operation('v1:shop.sign', {
      model: 'async',
      requires: { secrets: ['pin'] },
      run: (_, ctx) => {
        signed.push(ctx.secret('pin'))
        throw new Fault('upstream', 'Away.')
      },
    })
    const stay = operation('v1:shop.stay', {
      model: 'async',
      run: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    })
    const works = await open({ operations: [sign, stay] })
    await works.as('ada', 'v1:shop.stay')
    await works.request('/tools/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...works.people.ada.headers },
      body: JSON.stringify({
        tool_id: 'shop.sign',
        input: {},
        context: { secrets: [{ id: 'pin', value: '1234-5678' }] },
      }),
    })
    const [secret, waiting] = [
      (await works.ids('main', { operation: 'v1:shop.sign' }))[0] ?? '',
      (await works.ids('main', { operation: 'v1:shop.stay' }))[0] ?? '',
    ]

    const selected = { ids: [secret, waiting, 'nothing'], as: 'owner', why: 'x' }
    const { started, refused } = await works.result<Replayed>('replayer', REPLAY, selected)

    expect(signed).toEqual(['1234-5678'])
    expect(started).toEqual([])
    expect(refused.map(({ id, code }) => [id, code])).toEqual([
      [secret, 'SECRETS_GONE'],
      [waiting, 'CALL_OPEN'],
      ['nothing', 'NOT_FOUND'],
    ])
    expect(refused[0]?.message).toContain('Its caller must call again.')
  })

  /** A call with the attachment `page`, which its handler reads before it fails. */
  async function scanned() {
    const read: string[] = []
    const scan = operation('v1:shop.scan', {
      model: 'async',
      media: [{ name: 'page', required: true, acceptedTypes: ['text/plain'], maxBytes: 100 }],
      run: async (_, { media }) => {
        read.push((await media.page?.text()) ?? '')
        throw new Fault('upstream', 'Away.')
      },
    })
    const works = await open({ operations: [scan] })
    const form = new FormData()
    const envelope = {
      op: 'v1:shop.scan',
      args: {},
      ctx: { requestId: 'r1', idempotencyKey: 'k1' },
      media: [{ name: 'page', mimeType: 'text/plain', part: 'page' }],
    }
    form.set('envelope', new Blob([JSON.stringify(envelope)], { type: 'application/json' }))
    form.set('page', new Blob(['hello'], { type: 'text/plain' }))
    await works.request('/call', { method: 'POST', body: form, headers: works.people.ada.headers })
    await works.endedOf('ada', 'r1')
    const [first = ''] = await works.ids()
    const replay = () => works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })
    return { works, read, first, replay }
  }

  test('the attachments of a replayed call are its own', async () => {
    const { works, read, replay } = await scanned()

    const { started } = await replay()
    await works.endedOf('ada', started[0]?.requestId ?? '')

    expect(read).toEqual(['hello', 'hello'])
    const stored = await works.stored(started[0]?.id ?? '')
    expect(stored?.media[0]?.source).toMatchObject({
      kind: 'object',
      objectId: expect.stringContaining(started[0]?.id ?? ''),
    })
  })

  test('a call whose attachment is gone is refused, and the file is named', async () => {
    const { works, read, first, replay } = await scanned()
    await createFileObjects({ folder: join(works.data, 'objects'), clock: systemClock }).removeOwner(first)

    const { started, refused } = await replay()

    expect(started).toEqual([])
    expect(refused).toEqual([{ id: first, code: 'ATTACHMENT_GONE', message: expect.stringContaining('"page"') }])
    expect(read).toEqual(['hello'])
    expect(await works.ids()).toEqual([first])
  })

  test('the operations of the server and the calls of other tenants cannot be replayed', async () => {
    const works = await open()
    await works.make('ada', 'v1:shop.pay', 1)
    const [first] = await works.ids()
    const { started } = await works.result<Replayed>('replayer', REPLAY, { ids: [first], as: 'owner', why: 'x' })
    expect(started).toHaveLength(1)
    const [ours] = await works.ids('main', { operation: REPLAY })

    const own = await works.result<Replayed>('replayer', REPLAY, { ids: [ours], as: 'owner', why: 'x' })
    const others = await works.result<Replayed>('stranger', REPLAY, { ids: [first], as: 'owner', why: 'x' })

    expect(own.refused).toMatchObject([{ code: 'NOT_REPLAYABLE' }])
    expect(others).toMatchObject({ started: [], refused: [{ id: first, code: 'NOT_FOUND' }] })
    expect((await works.as('reader', REPLAY, { ids: [first], as: 'me', why: 'x' })).body.error?.code).toBe('UNKNOWN_OP')
  })
}
