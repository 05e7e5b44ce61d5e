/** What a client can do, however its calls move. */
import type { Client } from 'callplane/client'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { verifies } from '../../requirements.ts'
import { createOperations, type Operations } from './operations.ts'

export interface World {
  createClient(): Client<Operations>
  /** Breaks all connections. New ones can be made. Absent if there are none. */
  interrupt?(): Promise<void>
}

export type StartWorld = (operations: Operations) => Promise<World>

async function open(start: StartWorld) {
  const { operations, gate, seen } = createOperations()
  const world = await start(operations)
  const createClient = () => {
    const api = world.createClient()
    onTestFinished(() => api.close())
    return api
  }
  return { api: createClient(), createClient, world, gate, seen }
}

export function describeTransport(name: string, start: StartWorld, canBreak = true): void {
  describe(`the client ${name}`, () => {
    test('calls, and gets results and faults', async () => {
      const { api } = await open(start)

      const items = await Promise.all(['1', '2', '3'].map((id) => api.orders.getItem({ id })))
      const failed = await api.orders.getItem({ id: 'none' }).catch((fault) => fault)
      const unknown = await api.call('v1:orders.nothing', {}).catch((fault) => fault)
      const invalid = await api.call('v1:orders.getItem', { id: 7 as never }).catch((fault) => fault)

      expectTypeOf(items).toEqualTypeOf<{ name: string }[]>()
      expect(items.map((item) => item.name)).toEqual(['item 1', 'item 2', 'item 3'])
      expect(failed).toMatchObject({ code: 'NO_ITEM', outcome: 'failed', operation: 'v1:orders.getItem' })
      expect(unknown).toMatchObject({ code: 'UNKNOWN_OP', outcome: 'refused' })
      expect(invalid).toMatchObject({ code: 'VALIDATION_ERROR', outcome: 'refused' })
    })

    test('follows a run with its progress to its result, and resumes it by its id', async () => {
      const { api, createClient, gate } = await open(start)

      const run = await api.orders.charge.start({ id: 'o1' })
      const fractions: number[] = []
      for await (const { fraction } of run.progress()) {
        fractions.push(fraction)
        gate.open(3)
      }

      expect(fractions).toEqual([0.5])
      expect(await run.result()).toEqual({ amount: 3 })
      expect(await createClient().orders.charge.resume(run.id).result()).toEqual({ amount: 3 })
      expect(await run.poll()).toMatchObject({ requestId: run.id, state: 'complete' })
      await expect(api.resume('no-such-id').result()).rejects.toMatchObject({ outcome: 'unknown' })
    })

    test('cancels a run', async () => {
      const { api, gate } = await open(start)

      const run = await api.orders.charge.start({ id: 'o1' })
      await gate.began
      await run.cancel()

      await expect(run.result()).rejects.toMatchObject({ code: 'CANCELED', outcome: 'failed' })
    })

    test('gives a call up at its deadline, and the call goes on', async () => {
      const { api, gate, seen } = await open(start)

      // The connection is there, so that the call is sent in time.
      await api.orders.getItem({ id: '1' })
      const late = await api.orders.charge({ id: 'o1' }, { timeoutMs: 1_000 }).catch((fault) => fault)
      gate.open(4)

      expect(late).toMatchObject({ code: 'TIMED_OUT', outcome: 'unknown' })
      expect(await api.orders.charge.resume(late.requestId).result()).toEqual({ amount: 4 })
      expect(seen.charges).toEqual(['o1'])
    })

    test('reads a result in chunks', async () => {
      const { api } = await open(start)
      const rows = Array.from({ length: 20_000 }, (_, row) => `${row},é\n`)

      const text = await api.orders.export({ rows: rows.length }).text()

      expect(text).toBe(rows.join(''))
    })

    test('loops over frames, to the end, to a failure, or to a break', async () => {
      const { api, seen } = await open(start)
      const read = async (to: number, enough = Number.POSITIVE_INFINITY) => {
        const frames: number[] = []
        for await (const { n } of api.device.watch({ to })) if (frames.push(n) >= enough) break
        return frames
      }

      expect(await read(500)).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
      await expect(read(0)).rejects.toMatchObject({ code: 'NO_DEVICE', operation: 'v1:device.watch' })
      expect(await read(1e9, 2)).toEqual([1, 2])
      await expect.poll(() => seen.isStreaming, { timeout: 10_000 }).toBe(false)
    })

    test('sends commands to the session of a stream', async () => {
      verifies('opencall:198')
      const { api, gate, seen } = await open(start)
      const frames: number[] = []

      for await (const { n } of api.device.watch({ to: 3 }, { sessionId: 'desk-7' })) {
        frames.push(n)
        if (n < 3) continue
        expect(await api.device.command({ text: 'stop' }, { sessionId: 'desk-7' })).toBe('STOP')
        gate.open(0)
      }

      expect(frames).toEqual([1, 2, 3])
      expect(seen.sessions).toEqual(['desk-7', 'desk-7'])
    })

    test.runIf(canBreak)('takes no effect twice if the connection is lost', async () => {
      const { api, world, gate, seen } = await open(start)
      const followed = await api.orders.charge.start({ id: 'followed' })
      const result = followed.result()
      const unanswered = api.orders.pay({ id: 'unanswered' })
      await expect.poll(() => seen.charges.toSorted(), { timeout: 10_000 }).toEqual(['followed', 'unanswered'])

      await world.interrupt?.()
      // A call that is sent while the connection is away.
      const later = api.orders.getItem({ id: '9' })
      gate.open(5)

      expect(await unanswered).toBe(5)
      expect(await result).toEqual({ amount: 5 })
      expect(await later).toEqual({ name: 'item 9' })
      expect(seen.charges.toSorted()).toEqual(['followed', 'unanswered'])
    })
  })
}
