/** One subscription between a handler and readers that the test plays. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/core/fault.ts'
import type { Overflow } from '../../src/core/operation/stream.ts'
import { sealer } from '../../src/encodings/integrity.ts'
import { Subscription } from '../../src/engine/stream/subscription.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { openSeal } from '../../src/wire/frames/seal.ts'
import { settled } from '../engine/node.ts'
import { PlayedReader } from './channels.ts'

function open(overflow: Overflow, { sealed = false, paceMs = 0 } = {}) {
  const clock = createManualClock()
  const stops: Fault[] = []
  const subscription = new Subscription({
    clock,
    overflow,
    track: false,
    writer: { encode: (frame) => JSON.stringify(frame), ...(sealed && { seal: sealer('crc32') }) },
    paceMs: () => paceMs,
    stop: (why) => void stops.push(why),
  })
  return { clock, stops, subscription }
}

/** True once the handler may yield its next frame. */
async function goesOn(room: void | Promise<void>): Promise<boolean> {
  let free = room === undefined
  void Promise.resolve(room).then(() => {
    free = true
  })
  await settled()
  return free
}

function numbersIn(reader: PlayedReader): number[] {
  return reader.got.map((frame) => openSeal(frame as Uint8Array).seq)
}

describe('a slow reader', () => {
  test('makes the handler wait, and gets every frame', async () => {
    const { subscription } = open('wait')
    const reader = new PlayedReader(1)
    subscription.attach(reader)

    const first = subscription.push(1)
    expect(await goesOn(first)).toBe(false)
    reader.read(1)
    expect(await goesOn(first)).toBe(true)
    void subscription.push(2)

    expect(reader.values).toEqual([1, 2])
    expect(subscription.summary).toMatchObject({ value: { frames: 2, dropped: 0 } })
  })

  test('latest: gets the newest frame when it reads again, also after the handler has ended', async () => {
    const { subscription } = open('latest')
    const reader = new PlayedReader(1)
    subscription.attach(reader)

    for (let n = 1; n <= 5; n++) expect(await goesOn(subscription.push(n))).toBe(true)
    const flushed = subscription.flush()
    expect(await goesOn(flushed)).toBe(false)
    reader.read(2)
    expect(await goesOn(flushed)).toBe(true)

    expect(reader.values).toEqual([1, 5])
    expect(subscription.summary).toMatchObject({ value: { frames: 2, dropped: 3 } })
  })

  test('drop: misses the frames that it had no room for', async () => {
    const { subscription } = open('drop')
    const reader = new PlayedReader(2)
    subscription.attach(reader)

    for (let n = 1; n <= 5; n++) void subscription.push(n)
    reader.read(10)
    await settled()
    void subscription.push(6)

    expect(reader.values).toEqual([1, 2, 6])
    expect(subscription.summary).toMatchObject({ value: { frames: 3, dropped: 3 } })
  })

  test('end: may fall 256 frames behind, and one more ends the stream', () => {
    const { subscription, stops } = open('end')
    subscription.attach(new PlayedReader(1))

    for (let n = 0; n <= 256; n++) void subscription.push(n)
    expect(stops).toEqual([])
    void subscription.push(257)

    expect(stops).toMatchObject([{ code: 'SLOW_READER' }])
  })

  test.each<Overflow>(['latest', 'drop', 'end'])(
    '%s: no frame is lost before the first reader is there',
    async (rule) => {
      const { subscription } = open(rule)
      const first = subscription.push('first')
      expect(await goesOn(first)).toBe(false)

      const reader = new PlayedReader()
      subscription.attach(reader)

      expect(await goesOn(first)).toBe(true)
      expect(reader.values).toEqual(['first'])
    },
  )

  test('a limit of the rate makes the handler wait, and the end of the stream cuts that wait', async () => {
    const { subscription, clock } = open('wait', { paceMs: 40 })
    subscription.attach(new PlayedReader())

    const first = subscription.push(1)
    expect(await goesOn(first)).toBe(false)
    clock.advance(40)
    expect(await goesOn(first)).toBe(true)
    const second = subscription.push(2)
    subscription.close({ kind: 'result', value: null })

    expect(await goesOn(second)).toBe(true)
  })
})

describe('readers that come and go', () => {
  test('after 60 seconds without a reader the stream stops; one that comes back before that goes on', async () => {
    const { subscription, clock, stops } = open('wait')
    const first = new PlayedReader()
    subscription.attach(first)
    first.leave()
    clock.advance(59_999)
    const second = new PlayedReader()
    subscription.attach(second)
    clock.advance(100_000)
    expect(stops).toEqual([])

    second.leave()
    clock.advance(60_000)

    expect(stops).toMatchObject([{ code: 'READER_GONE' }])
  })

  test('the newer reader replaces the older one, which is told; a dead newcomer changes nothing', async () => {
    const { subscription } = open('wait')
    const [older, newer, dead] = [new PlayedReader(), new PlayedReader(), new PlayedReader()]
    subscription.attach(older)
    void subscription.push(1)
    subscription.attach(newer)
    dead.leave()
    subscription.attach(dead)
    void subscription.push(2)

    expect(older.ended).toMatchObject({ code: 'READER_REPLACED' })
    expect([older.values, newer.values, dead.got]).toEqual([[1], [2], []])
  })

  test.each<Overflow>(['wait', 'latest', 'end'])(
    '%s: a reader replaced without room does not stop the frames',
    async (rule) => {
      const { subscription } = open(rule)
      const stuck = new PlayedReader(1)
      subscription.attach(stuck)
      void subscription.push(1)
      void subscription.push(2)
      const newer = new PlayedReader()
      subscription.attach(newer)
      await settled()
      void subscription.push(3)

      expect(newer.values).toEqual([2, 3])
    },
  )

  test('a reader that comes after the end learns how the stream ended', () => {
    const { subscription } = open('wait')
    subscription.close({ kind: 'result', value: null })
    const late = new PlayedReader()
    subscription.attach(late)

    expect(late.ended).toBe('complete')
  })
})

describe('resuming with the number of the last frame', () => {
  test('the frames since then come again, as far as there is room, before the newer ones', async () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 5; n++) void subscription.push(n)
    first.leave()
    const waiting = subscription.push(6)

    const second = new PlayedReader(2)
    subscription.attach(second, 2)
    expect(numbersIn(second)).toEqual([3, 4])
    expect(await goesOn(waiting)).toBe(false)
    second.read(100)
    await settled()

    expect(numbersIn(second)).toEqual([3, 4, 5, 6])
    expect(subscription.summary).toMatchObject({ value: { frames: 6, dropped: 0 } })
  })

  test('the end of the handler waits for the frames that a reader missed', async () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 5; n++) void subscription.push(n)
    first.leave()
    const second = new PlayedReader(2)
    subscription.attach(second, 0)

    const flushed = subscription.flush()
    expect(await goesOn(flushed)).toBe(false)
    second.read(100)
    expect(await goesOn(flushed)).toBe(true)

    expect(numbersIn(second)).toEqual([1, 2, 3, 4, 5])
  })

  test('the end of the handler does not wait for a reader that is gone again and had every frame', async () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 5; n++) void subscription.push(n)
    const second = new PlayedReader(2)
    subscription.attach(second, 0)
    const flushed = subscription.flush()

    second.leave()

    expect(await goesOn(flushed)).toBe(true)
  })

  test('a stream that is stopped sends the missed frames before its end, and no others', async () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 4; n++) void subscription.push(n)
    first.leave()
    void subscription.push(5)
    const second = new PlayedReader(2)
    subscription.attach(second, 0)

    subscription.close({ kind: 'result', value: null })
    expect(second.ended).toBeUndefined()
    second.read(100)
    await settled()

    expect([numbersIn(second), second.ended]).toEqual([[1, 2, 3, 4], 'complete'])
  })

  test('a reader that comes back after the end gets what it missed, as far as it has room, and then the end', async () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 5; n++) void subscription.push(n)
    first.leave()
    subscription.close({ kind: 'result', value: null })

    const second = new PlayedReader(2)
    subscription.attach(second, 1)
    expect([numbersIn(second), second.ended]).toEqual([[2, 3], undefined])
    second.read(100)
    await settled()

    expect([numbersIn(second), second.ended]).toEqual([[2, 3, 4, 5], 'complete'])
  })

  test('a reader that missed more than the window sees the gap in the numbers', () => {
    const { subscription } = open('wait', { sealed: true })
    const first = new PlayedReader()
    subscription.attach(first)
    for (let n = 1; n <= 2_000; n++) void subscription.push(n)
    first.leave()
    const second = new PlayedReader()
    subscription.attach(second, 10)

    const numbers = numbersIn(second)
    expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([1_024, 977, 2_000])
  })
})

type Step = { kind: 'push' } | { kind: 'read' | 'attach'; room: number } | { kind: 'leave' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'push' as const }) },
  fc.record({ kind: fc.constantFrom('read' as const, 'attach' as const), room: fc.integer({ min: 1, max: 4 }) }),
  fc.constant({ kind: 'leave' as const }),
)

test.each<Overflow>(['wait', 'latest', 'drop', 'end'])(
  '%s: in any interleaving frames come in order, once, and are counted',
  async (rule) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { subscription, stops } = open(rule, { sealed: true })
        const readers: PlayedReader[] = []
        let room: Promise<void> | undefined
        let pushed = 0
        let last = 0
        for (const now of steps) {
          const reader = readers.at(-1)
          if (now.kind === 'push') {
            if (await goesOnSoon(room)) room = subscription.push(++pushed) ?? undefined
          } else if (now.kind === 'attach') {
            last = Math.max(last, ...readers.flatMap(numbersIn))
            readers.push(new PlayedReader(now.room))
            subscription.attach(readers.at(-1) as PlayedReader, last)
          } else if (now.kind === 'read') reader?.read(now.room)
          else reader?.leave()
        }
        const final = new PlayedReader()
        last = Math.max(last, ...readers.flatMap(numbersIn))
        readers.push(final)
        subscription.attach(final, last)
        await subscription.flush()

        const numbers = readers.flatMap(numbersIn)
        const { value } = subscription.summary as unknown as { value: { frames: number; dropped: number } }
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
        expect(value.frames + value.dropped).toBe(pushed)
        expect(stops).toEqual([])
        if (rule === 'wait' || rule === 'end') {
          expect(numbers).toEqual(Array.from({ length: pushed }, (_, n) => n + 1))
          expect(value.dropped).toBe(0)
        } else expect(numbers.length).toBe(value.frames)
      }),
      { numRuns: 300 },
    )
  },
)

async function goesOnSoon(room: Promise<void> | undefined): Promise<boolean> {
  if (!room) return true
  const pending = Symbol()
  for (let turn = 0; turn < 5; turn++) if ((await Promise.race([room, pending])) !== pending) return true
  return false
}
