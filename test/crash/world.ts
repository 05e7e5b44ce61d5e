/** One server on a manual clock whose handlers end when the test says so, and the observations of its clients. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, Fault, type HandlerContext, operation } from 'callplane'
import { expect } from 'vitest'
import { z } from 'zod'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import type { ClientCall, Effect, SeenState, Sighting } from './history.ts'

/**
 * `Work` may be repeated; `Charge` and `Pay` must not be. Only `Charge` is retained. An `Order` waits for an `Item`,
 * which its clients do not see.
 */
export type Kind = 'Work' | 'Charge' | 'Pay' | 'Order'

export interface Wish {
  kind: Kind
  keyed: boolean
  /** True if the handler reacts to a stop request with its own retryable failure. */
  stubborn: boolean
  /** True if the client waits for the outcome instead of polling. */
  patient: boolean
}

export type Step =
  | { do: 'call'; wish: Wish }
  /** `repeat`: the same key under a new request id. `resend`: the same request id again. */
  | { do: 'repeat' | 'resend' | 'poll' | 'cancel' | 'finish' | 'fail'; which: number }
  | { do: 'advance'; ms: number }
  | { do: 'restart' }

interface Seen extends ClientCall {
  sightings: Sighting[]
  wish: Wish
  /**
   * The key and the arguments are made from this name. A call that ends before it began releases its key, so a later
   * call with the same name is a different call. It gets the next `round` and therefore another label.
   */
  name: string
  round: number
  /** The time until which the server promised that the call can be polled. */
  keptUntil: number
}

type Ending = 'finish' | 'fail'

/** Codes of replies to a call that was not accepted. An accepted call must not end with one. */
const REFUSALS = ['PANIC_BUSY', 'PANIC_SHUTTING_DOWN']

export class World {
  readonly calls: Seen[] = []
  readonly effects: Effect[] = []
  readonly #data: string
  readonly #runningCalls: number
  readonly #clock = createManualClock()
  /** Handlers by name, in the order they began. Each waits until the test ends it. */
  readonly #gates: { name: string; end: (how: Ending) => void }[] = []
  readonly #rounds = new Map<string, number>()
  #open = false
  #server!: CallplaneServer
  #url = ''

  static async open(runningCalls: number): Promise<World> {
    const world = new World(await mkdtemp(join(tmpdir(), 'callplane-schedules-')), runningCalls)
    await world.#start()
    return world
  }

  private constructor(data: string, runningCalls: number) {
    this.#data = data
    this.#runningCalls = runningCalls
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
    if (next.do === 'call') return this.#send(this.#newCall(`w${this.calls.length}`, next.wish))
    const call = this.calls[next.which % Math.max(1, this.calls.length)]
    if (!call) return
    if (next.do === 'resend' || (next.do === 'repeat' && !call.wish.keyed)) return this.#send(call)
    if (next.do === 'repeat') return this.#send(this.#newCall(call.name, call.wish))
    if (next.do === 'poll') return this.#look(call)
    if (next.do === 'cancel') return this.#look(call, 'DELETE')
    this.#end(next.do, call.wish.kind === 'Order' ? `${call.name}.item` : call.name)
  }

  /** Lets every handler end, then polls each call until it has ended, and once more. */
  async settle(): Promise<void> {
    this.#open = true
    for (const call of [...this.calls]) {
      await this.#until(call, () => this.#look(call))
      if (!call.wish.keyed || call.sightings.some(({ state }) => state !== 'missing')) continue
      // Cut off before any reply, and not retained: only a repeat of its key shows its outcome.
      const repeat = this.#newCall(call.name, { ...call.wish, patient: false })
      await this.#until(repeat, () => this.#send(repeat))
    }
    for (const call of this.calls) await this.#look(call)
  }

  #end(how: Ending, name?: string): void {
    for (const gate of this.#gates) if (name === undefined || gate.name === name) gate.end(how)
  }

  #until(call: Seen, look: () => Promise<void>): Promise<void> {
    const seen = async () => {
      this.#end('finish')
      this.#clock.advance(1_000)
      await look()
      return call.gone ? 'gone' : call.sightings.at(-1)?.state
    }
    const message = `${call.requestId} (${call.wish.kind}) has not ended`
    return expect.poll(seen, { interval: 5, timeout: 5_000, message }).toMatch(/complete|error|missing|gone/)
  }

  /**
   * The items that orders made. No client has their request ids, so the order's outcome says whether they were made.
   */
  get items(): ClientCall[] {
    const made = new Set(this.effects.map(({ label }) => label))
    return this.calls
      .filter(({ name, round }) => made.has(labelOf(`${name}.item`, round)))
      .map((call) => ({ ...call, label: labelOf(`${call.name}.item`, call.round), effect: 'repeatable' }))
  }

  async #start(): Promise<void> {
    const args = z.object({ name: z.string(), stubborn: z.boolean() })
    const retry = { attempts: 3 }
    const run = (given: z.infer<typeof args>, ctx: HandlerContext) => this.#run(given, ctx)
    const order = async ({ name, stubborn }: z.infer<typeof args>, ctx: HandlerContext) => {
      this.#note({ name, key: ctx.key, attempt: ctx.attempt })
      return { item: await ctx.call('v1:World.Item', { name: `${name}.item`, stubborn }) }
    }
    this.#server = await createServer({
      operations: [
        operation('v1:World.Work', { args, model: 'async', concurrency: 2, retry, run }),
        operation('v1:World.Charge', { args, sideEffecting: true, ttlSeconds: 86_400, run }),
        operation('v1:World.Pay', { args, sideEffecting: true, run }),
        operation('v1:World.Order', { args, model: 'async', retry, run: order }),
        operation('v1:World.Item', { args, model: 'async', concurrency: 1, retry, run }),
      ],
      data: this.#data,
      clock: this.#clock,
      limits: { pollBurst: 100_000, runningCalls: this.#runningCalls },
    })
    this.#url = (await this.#server.listen({ port: 0 })).url
  }

  async #stop(): Promise<void> {
    let closed = false
    const closing = this.#server.close(0).finally(() => {
      closed = true
    })
    this.#clock.advance(1)
    for (let turn = 1; !closed; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      // Advances the clock only for calls that do not end by themselves, because leases would expire otherwise.
      if (turn % 1_000 === 0) this.#clock.advance(1_000)
      if (turn === 1_000_000) throw new Error('The server does not close, although all calls were asked to stop.')
    }
    await closing
  }

  async #run({ name, stubborn }: { name: string; stubborn: boolean }, ctx: HandlerContext): Promise<unknown> {
    this.#note({ name, key: ctx.key, attempt: ctx.attempt })
    const gate = Promise.withResolvers<Ending>()
    this.#gates.push({ name, end: gate.resolve })
    const stop = () => gate.reject(stubborn ? new Fault('upstream', 'The connection was cut.') : ctx.signal.reason)
    ctx.signal.addEventListener('abort', stop, { once: true })
    if ((this.#open ? 'finish' : await gate.promise) === 'fail') ctx.fail('TRY_AGAIN', 'As asked.', { retryable: true })
    return { key: ctx.key, attempt: ctx.attempt }
  }

  #note({ name, key, attempt }: { name: string; key: string; attempt: number }): void {
    this.effects.push({ label: labelOf(name, this.#rounds.get(name.replace('.item', '')) ?? 0), key, attempt })
  }

  #newCall(name: string, wish: Wish): Seen {
    const round = this.#rounds.get(name) ?? 0
    const call: Seen = {
      requestId: `r${this.calls.length}`,
      name,
      round,
      label: labelOf(name, round),
      wish,
      effect: wish.kind === 'Charge' || wish.kind === 'Pay' ? 'once' : 'repeatable',
      mayFailWith: [
        'CANCELED',
        'TRY_AGAIN',
        'OUTCOME_UNKNOWN',
        'PANIC_EXPIRED',
        ...(wish.stubborn ? ['PANIC_UPSTREAM'] : []),
      ],
      sightings: [],
      keptUntil: 0,
    }
    this.calls.push(call)
    return call
  }

  async #send(call: Seen): Promise<void> {
    const { requestId, name, wish } = call
    const { kind, keyed, stubborn, patient } = wish
    const waits = patient && (kind === 'Charge' || kind === 'Pay')
    const body = {
      op: `v1:World.${kind}`,
      args: { name, stubborn },
      ctx: { requestId, ...(!waits && { timeoutMs: 0 }), ...(keyed && { idempotencyKey: name }) },
    }
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
    if (!waits) return this.#ask(call, '/call', request)
    const before = this.effects.length
    let answered = false
    void this.#ask(call, '/call', request, 'late')
      // A restart cut the request off, so there is no reply.
      .catch(() => undefined)
      .finally(() => {
        answered = true
      })
    // The reply may come later. An effect shows that the call was accepted, unless the call joins another.
    for (let turn = 0; turn < 500 && !answered && this.effects.length === before; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #look(call: Seen, method = 'GET'): Promise<void> {
    return this.#ask(call, `/ops/${call.requestId}`, { method })
  }

  async #ask(call: Seen, path: string, request: RequestInit, order?: 'late'): Promise<void> {
    // The clock stands still, so a client that waits on it would wait forever.
    const signal = AbortSignal.timeout(order ? 60_000 : 5_000)
    const response = await fetch(this.#url + path, { ...request, signal })
    const {
      state,
      result,
      error,
      expiresAt = 0,
    } = (await response.json()) as {
      state: SeenState
      result?: unknown
      error?: { code: string }
      expiresAt?: number
    }
    // The server was full or shutting down: it did not accept this call or this repeat.
    if (path === '/call' && REFUSALS.includes(error?.code ?? '')) return
    if (response.status === 404) return this.#missed(call)
    call.keptUntil = Math.max(call.keptUntil, expiresAt * 1_000)
    const ended = state === 'error' || state === 'complete'
    // Another client may have seen a later state before this reply arrived.
    if (order === 'late' && !ended) return
    const outcome = state === 'error' ? error?.code : state === 'complete' ? JSON.stringify(result) : undefined
    call.sightings.push({ state, ...(outcome !== undefined && { outcome }) })
    if (outcome === 'CANCELED') this.#nextRound(call)
  }

  /** A call that was promised to be kept must be found. Other calls may be gone. */
  #missed(call: Seen): void {
    const last = call.sightings.at(-1)
    if (!last || this.#clock.now() < call.keptUntil) call.sightings.push({ state: 'missing' })
    else if (last.state === 'accepted' || last.state === 'pending') call.gone = true
  }

  #nextRound({ name, round, label }: Seen): void {
    const began = this.effects.some((effect) => effect.label === label)
    if (!began && (this.#rounds.get(name) ?? 0) === round) this.#rounds.set(name, round + 1)
  }
}

function labelOf(name: string, round: number): string {
  return round === 0 ? name : `${name}, round ${round}`
}
