/**
 * The operations of a chaos run. Each attempt writes lines to a file outside of the store: when it begins, when it takes
 * its effect, and when it ends. Times are of the clock that all processes of a machine share.
 */
import { openSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type HandlerContext, operation, type ServerOptions } from 'callplane'
import { z } from 'zod'
import { TOKENS } from './callers.ts'
import { BRIEF_TTL_SECONDS } from './retention.ts'

const { CHAOS_EFFECTS = '', CHAOS_NODE = '', CHAOS_TOOL = '', CHAOS_MQTT, CHAOS_KAFKA } = process.env
const effects = CHAOS_EFFECTS === '' ? undefined : openSync(CHAOS_EFFECTS, 'a')

type Step = 'begin' | 'effect' | 'end'

function note(step: Step, label: string, { key, attempt, caller }: HandlerContext): void {
  if (effects === undefined) return
  const atMs = Number(process.hrtime.bigint() / 1_000n) / 1_000
  const line = { step, label, key, attempt, by: caller.subject, node: Number(CHAOS_NODE), atMs }
  writeSync(effects, `${JSON.stringify(line)}\n`)
}

export const server: Partial<ServerOptions> = {
  auth: { tokens: TOKENS },
  work: { leaseMs: 2_000, claimEveryMs: 500 },
  sizes: { chunkBytes: 256 },
  limits: { pollBurst: 10_000, pendingApprovalsPerCaller: 10_000, streamsPerCaller: 1_000 },
  opencall: { eventStreamsPerCaller: 1_000 },
  // Not a policy: under one, also a call without a record needs the store, for its audit entry.
  guards: [
    {
      concerns: ({ key }) => key.startsWith('v1:Chaos.Held'),
      decide: () => ({ verdict: 'hold', rule: 'held' }),
    },
  ],
  ...(CHAOS_MQTT && { mqtt: { url: CHAOS_MQTT, clientId: `chaos-${CHAOS_NODE}` } }),
  ...(CHAOS_KAFKA && { kafka: { brokers: [CHAOS_KAFKA], createTopics: { partitions: 6 }, sessionTimeoutMs: 6_000 } }),
}

const args = z.object({ label: z.string(), ms: z.number(), fail: z.enum(['never', 'once', 'always']).default('never') })
const result = z.object({ label: z.string(), key: z.string(), attempt: z.int(), by: z.string() })
type Args = z.infer<typeof args>

async function act(given: Args, ctx: HandlerContext): Promise<z.infer<typeof result>> {
  note('begin', given.label, ctx)
  return finish(given, ctx)
}

async function finish({ label, ms, fail }: Args, ctx: HandlerContext): Promise<z.infer<typeof result>> {
  await pause(ms / 2)
  note('effect', label, ctx)
  await pause(ms / 2)
  note('end', label, ctx)
  if (fail === 'always') ctx.fail('AS_ASKED', 'This call was asked to fail.')
  if (fail === 'once' && ctx.attempt === 1) ctx.fail('TRY_AGAIN', 'The first attempt fails.', { retryable: true })
  return { label, key: ctx.key, attempt: ctx.attempt, by: ctx.caller.subject }
}

/** Needs no store. */
export const look = operation('v1:Chaos.Look', { args, result, run: act })

export const work = operation('v1:Chaos.Work', {
  args,
  result,
  model: 'async',
  // Fewer than there are calls, so that some are queued and claimed by any node.
  concurrency: 8,
  retry: { attempts: 3, backoffMs: 50 },
  run: act,
})

export const charge = operation('v1:Chaos.Charge', {
  args,
  result,
  sideEffecting: true,
  ttlSeconds: 7_200,
  run: act,
})

/** Kept so briefly that it expires in the course of a run. */
export const brief = operation('v1:Chaos.Brief', {
  args,
  result,
  model: 'async',
  ttlSeconds: BRIEF_TTL_SECONDS,
  run: act,
})

/** Its child call has an effect that must not be repeated when this operation runs again. */
export const order = operation('v1:Chaos.Order', {
  args,
  result,
  model: 'async',
  async run(given, ctx) {
    note('begin', given.label, ctx)
    await ctx.call(charge, { ...given, label: `${given.label}.charge` })
    return finish(given, ctx)
  },
})

/** Needs an approval. */
export const held = operation('v1:Chaos.Held', { args, result, model: 'async', run: act })

const LINES = 24

export const exported = operation('v1:Chaos.Export', {
  args,
  result,
  chunked: true,
  run(given, ctx) {
    async function* lines() {
      note('begin', given.label, ctx)
      for (let line = 0; line < LINES; line++) {
        yield `${line},${given.label},${'é'.repeat(line)}\n`
        if (line % 8 === 0) await pause(given.ms / 3)
      }
      note('effect', given.label, ctx)
      note('end', given.label, ctx)
      return { label: given.label, key: ctx.key, attempt: ctx.attempt, by: ctx.caller.subject }
    }
    return ctx.chunks(lines(), { mimeType: 'text/csv' })
  },
})

/** A tool that answers later, by a callback or when it is asked. It notes its effects itself. */
export const deferred = operation('v1:Chaos.Deferred', {
  args,
  model: 'async',
  timeoutMs: 120_000,
  retry: { attempts: 5, backoffMs: 200 },
  backend: {
    kind: 'webhook',
    endpoint: CHAOS_TOOL || 'http://127.0.0.1:1/jobs',
    allowPrivate: true,
    pollMs: 1_000,
    callback: { secretRef: 'chaos-callback' },
  },
})

const FRAMES = 40

export const feed = operation('v1:Chaos.Feed', {
  args,
  frame: z.object({ n: z.int(), label: z.string() }),
  ttlSeconds: 600,
  stream: { integrity: 'crc32' },
  async *run({ label, ms }, ctx) {
    note('begin', label, ctx)
    for (let n = 1; n <= FRAMES; n++) {
      yield { n, label }
      await pause(ms, undefined, { signal: ctx.signal })
    }
  },
})
