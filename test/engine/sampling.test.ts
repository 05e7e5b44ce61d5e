/** Samples of the load: each call is in one of them, however early or late the timers are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Clock, Log } from '../../src/core/ports/runtime.ts'
import { FINE, type Measured, Samples, Sampling } from '../../src/engine/metrics/samples.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Records in memory, without an expiry. */
function createRecords() {
  const values = new Map<string, string>()
  return {
    put: async (key: string, value: string) => void values.set(key, value),
    list: async (prefix: string, limit: number, after = '') =>
      [...values]
        .map(([key, value]) => ({ key, value }))
        .filter(({ key }) => key.startsWith(prefix) && key > after)
        .sort((one, other) => (one.key < other.key ? -1 : 1))
        .slice(0, limit),
  }
}

/** Timers of this clock are as much too early or too late as the list says. */
function withLateness(clock: Clock, lateness: readonly number[]): Clock {
  let timers = 0
  return {
    ...clock,
    schedule: (delayMs, run) => clock.schedule(Math.max(1, delayMs + (lateness[timers++ % lateness.length] ?? 0)), run),
  }
}

test('all calls are counted once, in the step of their end or in the next one', async () => {
  const lateness = fc.array(fc.integer({ min: -4, max: 12 }), { minLength: 1, maxLength: 8 })
  const inSeconds = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 20, maxLength: 80 })

  await fc.assert(
    fc.asyncProperty(lateness, inSeconds, fc.integer({ min: 0, max: 9_999 }), async (late, seconds, offset) => {
      const clock = createManualClock(Date.UTC(2026, 0, 1) + offset)
      const start = clock.now()
      const log: Log = createMemoryLog([])
      const samples = new Samples(createRecords())
      const ends: number[] = []
      const measured: Measured = {
        // A call that takes long runs all the time, so every step has a sample.
        gauges: () => ({ queued: 0, running: 1, loopDelayMs: 0, memoryBytes: 1 }),
        totals: () => new Map([['v1:x', { calls: ends.length, errors: 0, buckets: [ends.length] }]]),
        node: () => 1,
      }
      const sampling = new Sampling({ clock: withLateness(clock, late), log, samples, measured, writer: 'one' })
      sampling.start()
      for (const calls of seconds) {
        for (let n = 0; n < calls; n++) ends.push(clock.now())
        for (let ms = 0; ms < 1_000; ms += 100) {
          clock.advance(100)
          await turn()
        }
      }
      clock.advance(2 * FINE.stepMs)
      await turn()
      await sampling.stop()

      const taken = await samples.read(FINE, start - FINE.stepMs, clock.now())
      const counts = taken.map(({ at, operations }) => ({ at, calls: operations['v1:x']?.calls ?? 0 }))
      expect(counts.reduce((sum, { calls }) => sum + calls, 0)).toBe(ends.length)
      const upTo = (time: number) =>
        counts.reduce((sum, { at, calls }) => sum + (at + FINE.stepMs <= time ? calls : 0), 0)
      const endedBy = (time: number) => ends.filter((end) => end < time).length
      for (const { at } of counts) {
        const end = at + FINE.stepMs
        expect(upTo(end)).toBeGreaterThanOrEqual(endedBy(end - FINE.stepMs))
        expect(upTo(end)).toBeLessThanOrEqual(endedBy(end + FINE.stepMs))
      }
    }),
    { numRuns: 30 },
  )
})
