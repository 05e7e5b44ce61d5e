/** A configured server on a free loopback port with its own data folder, a client for it, and a manual clock. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, type ServerOptions } from 'callplane'
import { onTestFinished } from 'vitest'
import type { RequestContext, ResponseEnvelope } from '../../src/protocols/opencall/wire.ts'
import { createManualClock, type ManualClock } from '../../src/testing/fakes/clock.ts'

export interface Answered {
  status: number
  headers: Headers
  body: ResponseEnvelope
}

export interface Sending {
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Members of the envelope besides `op`, `args` and `ctx`. */
  envelope?: Record<string, unknown>
}

export interface Site {
  readonly url: string
  readonly server: CallplaneServer
  readonly data: string
  call(op: string, args?: object, ctx?: RequestContext, sending?: Sending): Promise<Answered>
  poll(requestId: string, headers?: Record<string, string>): Promise<Answered>
  /** Polls with `Prefer: wait` until the call has ended. */
  ended(requestId: string, headers?: Record<string, string>): Promise<Answered>
  request(path: string, init?: RequestInit): Promise<Response>
  close(graceMs?: number): Promise<void>
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'callplane-scenario-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Set `data` to start on the data of an earlier server. Closed when the test ends, if it is still open. */
export async function startSite<App>(options: ServerOptions<App>): Promise<Site> {
  const data = options.data ?? temporaryFolder()
  const server = await createServer<App>({ ...options, data })
  const { url } = await server.listen({ port: 0 })
  let closing: Promise<void> | undefined
  const close = (graceMs = 0) => (closing ??= server.close(graceMs))
  onTestFinished(async () => {
    const closed = close()
    // A clock that stands still would prevent the end of the grace period.
    if (isManual(options.clock)) await options.clock.passing(closed)
    else await closed
  })
  return { server, data, close, ...callerOf(url) }
}

/** The same for a server that the test does not start: mounted, or at another address. */
export function callerOf(url: string): Omit<Site, 'server' | 'data' | 'close'> {
  // The test checks the 303 itself, so fetch must not follow it.
  const request = (path: string, init?: RequestInit) => fetch(url + path, { redirect: 'manual', ...init })
  const poll = async (requestId: string, headers: Record<string, string> = {}) =>
    answered(await request(`/ops/${encodeURIComponent(requestId)}`, { headers }))
  return {
    url,
    request,
    poll,
    async call(op, args = {}, ctx, { headers = {}, signal, envelope = {} } = {}) {
      const init: RequestInit = {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify({ op, args, ...(ctx && { ctx }), ...envelope }),
      }
      return answered(await request('/call', signal ? { ...init, signal } : init))
    },
    async ended(requestId, headers = {}) {
      for (;;) {
        const answer = await poll(requestId, { Prefer: 'wait=30', ...headers })
        if (answer.body.state === 'complete' || answer.body.state === 'error') return answer
      }
    },
  }
}

export async function answered(response: Response): Promise<Answered> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as ResponseEnvelope }
}

export interface StepClock extends ManualClock {
  /** Resolves once a timer of this length is set. */
  timer(delayMs: number): Promise<void>
  /** Advances the clock step by step until the promise has settled. */
  passing<T>(promise: Promise<T>, stepMs?: number): Promise<T>
}

export function createStepClock(startMs?: number): StepClock {
  const clock = createManualClock(startMs)
  const pending = new Map<object, number>()
  const waiting = new Set<{ delayMs: number; resolve: () => void }>()
  return {
    now: clock.now,
    monotonicMs: clock.monotonicMs,
    advance: clock.advance,
    set: clock.set,
    schedule(delayMs, run) {
      const token = {}
      pending.set(token, delayMs)
      for (const waiter of waiting) if (waiter.delayMs === delayMs) waiter.resolve()
      const cancel = clock.schedule(delayMs, () => {
        pending.delete(token)
        run()
      })
      return () => {
        pending.delete(token)
        cancel()
      }
    },
    timer: (delayMs) =>
      new Promise((resolve) => {
        if ([...pending.values()].includes(delayMs)) resolve()
        else waiting.add({ delayMs, resolve })
      }),
    async passing(promise, stepMs = 1_000) {
      let settled = false
      const mark = () => {
        settled = true
      }
      promise.then(mark, mark)
      while (!settled) {
        clock.advance(stepMs)
        await new Promise((resolve) => setImmediate(resolve))
      }
      return promise
    },
  }
}

function isManual(clock: ServerOptions['clock']): clock is StepClock {
  return clock !== undefined && 'passing' in clock
}

/** A handler that reports that it began, and ends as the test says. */
export function createGate<T = unknown>(): {
  began: Promise<void>
  open: (value: T) => void
  fail: (error: Error) => void
  pass: () => Promise<T>
} {
  const begin = Promise.withResolvers<void>()
  const end = Promise.withResolvers<T>()
  end.promise.catch(() => undefined)
  return {
    began: begin.promise,
    open: end.resolve,
    fail: end.reject,
    pass() {
      begin.resolve()
      return end.promise
    },
  }
}
