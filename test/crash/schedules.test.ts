/** Any order of calls, repeats, polls, cancels, ends and restarts, on one server with a clock that stands still. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, type HandlerContext, operation } from 'callplane'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createManualClock } from '../../src/testing/clock.ts'
import { verifies } from '../requirements.ts'
import { type ClientCall, type Effect, problemsIn, type SeenState, type Sighting } from './history.ts'

type Step =
  | { do: 'work' }
  | { do: 'single' }
  | { do: 'charge' }
  | { do: 'repeat' | 'poll' | 'cancel' | 'finish' | 'fail'; which: number }
  | { do: 'advance'; ms: number }
  | { do: 'restart' }

const which = fc.nat({ max: 20 })
const to = <Name extends Extract<Step, { which: number }>['do']>(name: Name) =>
  fc.record({ do: fc.constant(name), which })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ do: 'work' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'single' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'charge' as const }) },
  ...(['repeat', 'poll', 'cancel', 'finish', 'fail'] as const).map((name) => ({ weight: 2, arbitrary: to(name) })),
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.nat({ max: 60_000 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

/** Found by this test: leases of 30 s that run out in the middle of something else, and a cancel that meets a claim. */
const LAPSED_WHILE_RUNNING: Step[] = [
  { do: 'charge' },
  { do: 'advance', ms: 30_000 },
  { do: 'repeat', which: 0 },
  { do: 'finish', which: 0 },
]
const LAPSED_WHILE_CLOSING: Step[] = [
  { do: 'charge' },
  { do: 'advance', ms: 29_999 },
  { do: 'restart' },
  { do: 'poll', which: 0 },
]

const CANCELED_WHILE_TAKEN_UP: Step[] = [
  { do: 'single' },
  { do: 'single' },
  { do: 'single' },
  { do: 'finish', which: 0 },
  { do: 'cancel', which: 2 },
]

test('whatever is done in whatever order, nothing is lost, doubled or taken back', { timeout: 60_000 }, async () => {
  verifies('opencall:291', 'opencall:294')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      await using world = await World.open()
      for (const each of steps) await world.take(each)
      await world.settle()

      expect(problemsIn(world)).toEqual([])
    }),
    { numRuns: 25, examples: [[LAPSED_WHILE_RUNNING], [LAPSED_WHILE_CLOSING], [CANCELED_WHILE_TAKEN_UP]] },
  )
})

type Seen = ClientCall & { sightings: Sighting[]; operation: 'Work' | 'Charge'; keyed: boolean }

class World {
  readonly calls: Seen[] = []
  readonly effects: Effect[] = []
  readonly #data: string
  readonly #clock = createManualClock()
  /** Handlers at work, by label; each waits to be told how to end. */
  readonly #gates = new Map<string, PromiseWithResolvers<'finish' | 'fail'>>()
  #open = false
  #server!: CallplaneServer
  #url = ''

  static async open(): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), 'callplane-schedules-')))
    await world.#start()
    return world
  }

  private constructor(data: string) {
    this.#data = data
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    await rm(this.#data, { recursive: true, force: true })
  }

  async take(next: Step): Promise<void> {
    if (next.do === 'restart') {
      await this.#stop()
      return this.#start()
    }
    if (next.do === 'advance') return this.#clock.advance(next.ms)
    const label = `w${this.calls.length}`
    if (next.do === 'work') return this.#send(this.#newCall(label, 'Work', true))
    if (next.do === 'single') return this.#send(this.#newCall(label, 'Work', false))
    if (next.do === 'charge') return this.#send(this.#newCall(label, 'Charge', true))
    const call = this.calls[next.which % Math.max(1, this.calls.length)]
    if (!call) return
    // The same key under a new request id, or the same request id again.
    if (next.do === 'repeat') return this.#send(call.keyed ? this.#newCall(call.label, call.operation, true) : call)
    if (next.do === 'poll') return this.#look(call)
    if (next.do === 'cancel') return this.#cancel(call)
    this.#gates.get(call.label)?.resolve(next.do)
  }

  /** Every handler may end from now on; then each call is looked at until it has ended, and once more. */
  async settle(): Promise<void> {
    this.#open = true
    for (const call of this.calls) {
      await expect
        .poll(
          async () => {
            for (const gate of this.#gates.values()) gate.resolve('finish')
            this.#clock.advance(1_000)
            await this.#look(call)
            return call.sightings.at(-1)?.state
          },
          { interval: 5, timeout: 5_000 },
        )
        .toMatch(/complete|error/)
    }
    for (const call of this.calls) await this.#look(call)
  }

  async #start(): Promise<void> {
    const args = z.object({ label: z.string() })
    const run = ({ label }: { label: string }, ctx: HandlerContext) => this.#run(label, ctx)
    const work = operation('v1:World.Work', { args, model: 'async', concurrency: 2, retry: { attempts: 3 }, run })
    const charge = operation('v1:World.Charge', { args, sideEffecting: true, ttlSeconds: 86_400, run })
    this.#server = await createServer({
      operations: [work, charge],
      data: this.#data,
      clock: this.#clock,
      limits: { pollBurst: 100_000 },
    })
    this.#url = (await this.#server.listen({ port: 0 })).url
  }

  async #stop(): Promise<void> {
    const closed = this.#server.close(0)
    this.#clock.advance(1)
    await closed
  }

  async #run(label: string, ctx: HandlerContext): Promise<unknown> {
    this.effects.push({ label, key: ctx.key, attempt: ctx.attempt })
    const gate = Promise.withResolvers<'finish' | 'fail'>()
    this.#gates.set(label, gate)
    ctx.signal.addEventListener('abort', () => gate.reject(ctx.signal.reason), { once: true })
    if ((this.#open ? 'finish' : await gate.promise) === 'fail') ctx.fail('TRY_AGAIN', 'As asked.', { retryable: true })
    return { key: ctx.key, attempt: ctx.attempt }
  }

  #newCall(label: string, name: Seen['operation'], keyed: boolean): Seen {
    const call: Seen = {
      requestId: `r${this.calls.length}`,
      label,
      operation: name,
      keyed,
      effect: name === 'Charge' ? 'once' : 'repeatable',
      mayFailWith: ['CANCELED', 'TRY_AGAIN', 'OUTCOME_UNKNOWN'],
      sightings: [],
    }
    this.calls.push(call)
    return call
  }

  #send(call: Seen): Promise<void> {
    const { requestId, label, keyed } = call
    return this.#note(call, '/call', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        op: `v1:World.${call.operation}`,
        args: { label },
        ctx: { requestId, timeoutMs: 0, ...(keyed && { idempotencyKey: label }) },
      }),
    })
  }

  async #cancel(call: Seen): Promise<void> {
    // Canceled before it began, a call gives its key back, and a repeat would rightly be another call.
    if (call.operation === 'Charge' || !call.keyed) await this.#look(call, 'DELETE')
  }

  #look(call: Seen, method = 'GET'): Promise<void> {
    return this.#note(call, `/ops/${call.requestId}`, { method })
  }

  async #note(call: Seen, path: string, request: RequestInit): Promise<void> {
    // The clock stands still, so whoever waits for it waits for ever.
    const response = await fetch(this.#url + path, { ...request, signal: AbortSignal.timeout(5_000) })
    const { state, result, error } = (await response.json()) as {
      state: SeenState
      result?: unknown
      error?: { code: string }
    }
    if (response.status === 404) call.sightings.push({ state: 'missing' })
    else {
      const outcome = state === 'error' ? error?.code : state === 'complete' ? JSON.stringify(result) : undefined
      call.sightings.push({ state, ...(outcome !== undefined && { outcome }) })
    }
  }
}
