/**
 * The shared test suite for backends. Pass your runner's `describe`, `test` and `expect`, and a function that opens a
 * backend whose tool has the given behaviour. The adapter itself tests its wire format, its settings and its own
 * failures. Tool Contract v1, "Runtime Semantics".
 */
import type { BackendContext } from '../../../core/call/context.ts'
import { Fault } from '../../../core/fault.ts'
import type { Backend } from '../../../core/ports/backend.ts'
import { createManualClock, type ManualClock } from '../../fakes/clock.ts'
import type { TestRunner } from '../runner.ts'
import { BackendRun } from './backend-run.ts'

/**
 * `echo`: returns the arguments, which are always `ARGS` below. `hang`: never responds. `fail`: always fails in the same way, not retryable. `flood`:
 * returns more than the backend accepts.
 */
export type ToolBehaviour = 'echo' | 'hang' | 'fail' | 'flood'

export interface OpenedBackend {
  backend: Backend
  /** Resolves when the tool has started to work. */
  begun: Promise<void>
  /** Resolves when the tool has been asked to stop, or has ended. */
  stopped: Promise<void>
  cleanup(): Promise<void>
}

export type OpenBackend = (behaviour: ToolBehaviour, clock: ManualClock) => Promise<OpenedBackend>

export interface BackendStories {
  /** Called by the tests with the behaviour that each of them shows, such as `timeout`. */
  shows?(what: 'timeout' | 'cancel' | 'bounded' | 'deterministic'): void
}

const ARGS = { text: 'héllo', list: [1, null, { deep: true }] }
const TIMEOUT_MS = 60_000

export function describeBackend(
  { describe, test, expect }: TestRunner,
  name: string,
  open: OpenBackend,
  { shows = () => {} }: BackendStories = {},
): void {
  async function story(
    behaviour: ToolBehaviour,
    body: (opened: OpenedBackend, clock: ManualClock) => Promise<void>,
  ): Promise<void> {
    const clock = createManualClock()
    const opened = await open(behaviour, clock)
    try {
      await body(opened, clock)
    } finally {
      await opened.backend.close?.()
      await opened.cleanup()
    }
  }

  describe(`${name}: behaviour of every backend`, () => {
    test('passes the arguments to the tool and returns its result', () =>
      story('echo', async ({ backend }, clock) => {
        expect(await new BackendRun(backend, clock, ARGS).outcome).toEqual({ kind: 'result', value: ARGS })
      }))

    test('stops the tool at its timeout, and reports the timeout', () =>
      story('hang', async ({ backend, begun, stopped }, clock) => {
        shows('timeout')
        const run = new BackendRun(backend, clock, ARGS, { timeoutMs: TIMEOUT_MS })
        await begun

        clock.advance(TIMEOUT_MS)

        expect(await run.outcome).toMatchObject({
          kind: 'fault',
          fault: { kind: 'timeout', retryable: true, details: { timeoutMs: TIMEOUT_MS } },
        })
        await stopped
      }))

    test('passes a cancellation on to the tool', () =>
      story('hang', async ({ backend, begun, stopped }, clock) => {
        shows('cancel')
        const run = new BackendRun(backend, clock, ARGS, { retry: { attempts: 3 } })
        await begun

        run.cancel()

        expect(await run.outcome).toMatchObject({ kind: 'fault', fault: { kind: 'canceled', retryable: false } })
        await stopped
      }))

    test('is abandoned at once if it ignores its signal', () =>
      story('hang', async ({ backend, begun }, clock) => {
        shows('bounded')
        const run = new BackendRun(deaf(backend), clock, ARGS)
        await begun

        run.cancel()

        expect(await run.outcome).toMatchObject({ kind: 'fault', fault: { kind: 'canceled' } })
      }))

    // The adapter's own tests check that the tool is stopped.
    test('runs again on a later attempt, with another attempt number and the same key', () =>
      story('echo', async ({ backend }, clock) => {
        const tries: { tryNumber: number; key: string }[] = []

        const { outcome } = new BackendRun(failingFirst(backend, tries), clock, ARGS, { retry: { attempts: 2 } })

        expect(await outcome).toEqual({ kind: 'result', value: ARGS })
        const key = tries[0]?.key
        expect(tries).toEqual([
          { tryNumber: 1, key },
          { tryNumber: 2, key },
        ])
      }))

    test('reports the same failure with the same message', () =>
      story('fail', async ({ backend }, clock) => {
        shows('deterministic')
        const first = await new BackendRun(backend, clock, ARGS).outcome
        const second = await new BackendRun(backend, clock, ARGS).outcome

        expect(first).toMatchObject({ kind: 'fault', fault: { retryable: false } })
        expect(second).toEqual(first)
      }))

    test('reads no more than its limit from a tool with an endless response', () =>
      story('flood', async ({ backend, stopped }, clock) => {
        const outcome = await new BackendRun(backend, clock, ARGS).outcome

        expect(outcome).toMatchObject({ kind: 'fault', fault: { kind: 'upstream', retryable: false } })
        expect(typeof (outcome.kind === 'fault' && outcome.fault.details?.limit_bytes)).toBe('number')
        await stopped
      }))
  })
}

/** Wraps a backend so that it never sees its signal. */
function deaf(backend: Backend): Backend {
  const { signal } = new AbortController()
  const hearsNothing = (context: BackendContext): BackendContext =>
    new Proxy(context, {
      get: (target, name) => {
        if (name === 'signal') return signal
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  return wrap(backend, hearsNothing)
}

function failingFirst(backend: Backend, tries: { tryNumber: number; key: string }[]): Backend {
  const whole = wrap(backend, (context) => context)
  return {
    ...whole,
    execute(args, context) {
      const { tryNumber, key } = context
      tries.push({ tryNumber, key })
      if (tryNumber === 1) throw new Fault('upstream', 'Not at the first try.')
      return whole.execute(args, context)
    },
  }
}

/** Copies member by member: a spread would lose the methods of a class instance. */
function wrap(backend: Backend, change: (context: BackendContext) => BackendContext): Backend {
  return {
    kind: backend.kind,
    ...(backend.isolated !== undefined && { isolated: backend.isolated }),
    ...(backend.usesAuth !== undefined && { usesAuth: backend.usesAuth }),
    ...(backend.durable !== undefined && { durable: backend.durable }),
    execute: (args, context) => backend.execute(args, change(context)),
    ...(backend.resume && { resume: (waiting, args, context) => backend.resume?.(waiting, args, change(context)) }),
    ...(backend.abandon && { abandon: async (waiting, context) => backend.abandon?.(waiting, context) }),
  }
}
