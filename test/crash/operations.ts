/** The operations of the crash tests. Each effect is a line in a file, synced before the handler continues. */
import { fsyncSync, openSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type HandlerContext, operation, type ServerOptions } from 'callplane'
import { z } from 'zod'

/** The file for the effects. */
const effects = openSync(process.env.CRASH_EFFECTS as string, 'a')

/** Writes one line for each effect: its label, the handler's key and its attempt. */
function takeEffect(label: string, { key, attempt }: HandlerContext): void {
  writeSync(effects, `${label} ${key} ${attempt}\n`)
  fsyncSync(effects)
}

export const server: Partial<ServerOptions> = {
  work: { leaseMs: 700, claimEveryMs: 200 },
  sizes: { chunkBytes: 128 },
  limits: { pollBurst: 1_000, pendingApprovalsPerCaller: 10_000 },
  policy: { default: 'allow', rules: [{ id: 'watched', effect: 'approve', what: { operation: 'v1:Crash.Held' } }] },
}

const args = z.object({ label: z.string(), ms: z.number(), fail: z.enum(['never', 'once', 'always']).default('never') })
const result = z.object({ label: z.string(), key: z.string(), attempt: z.int() })

export const work = operation('v1:Crash.Work', {
  args,
  result,
  model: 'async',
  retry: { attempts: 3, backoffMs: 20 },
  async run({ label, ms, fail }, ctx) {
    await pause(ms / 2)
    takeEffect(label, ctx)
    await pause(ms / 2)
    if (fail === 'always') ctx.fail('AS_ASKED', 'This call was asked to fail.')
    if (fail === 'once' && ctx.attempt === 1) ctx.fail('TRY_AGAIN', 'The first attempt fails.', { retryable: true })
    return { label, key: ctx.key, attempt: ctx.attempt }
  },
})

/** Needs an approval, which the decider gives. */
export const held = operation('v1:Crash.Held', {
  args,
  result,
  model: 'async',
  async run({ label, ms }, ctx) {
    await pause(ms / 2)
    takeEffect(label, ctx)
    return { label, key: ctx.key, attempt: ctx.attempt }
  },
})

export const charge = operation('v1:Crash.Charge', {
  args,
  result,
  sideEffecting: true,
  ttlSeconds: 3_600,
  async run({ label, ms }, ctx) {
    await pause(ms / 2)
    takeEffect(label, ctx)
    await pause(ms / 2)
    return { label, key: ctx.key, attempt: ctx.attempt }
  },
})

/** Its child call has an effect that must not be repeated when this operation runs again. */
export const order = operation('v1:Crash.Order', {
  args,
  result,
  model: 'async',
  async run({ label, ms }, ctx) {
    await pause(ms / 2)
    const charged = await ctx.call(charge, { label: `${label}.charge`, ms })
    takeEffect(label, ctx)
    return { ...charged, label }
  },
})

const LINES = 40

export const exported = operation('v1:Crash.Export', {
  args,
  chunked: { mimeType: 'text/csv' },
  async *run({ label, ms }, ctx) {
    takeEffect(label, ctx)
    for (let line = 0; line < LINES; line++) {
      yield `${line},${label},${'é'.repeat(line)}\n`
      if (line % 8 === 0) await pause(ms / 5)
    }
  },
})

/** A stream that goes on until its server dies. */
export const feed = operation('v1:Crash.Feed', {
  args: z.object({}),
  frame: z.object({ n: z.int() }),
  async *run(_args, { signal }) {
    for (let n = 1; !signal.aborted; n++) {
      yield { n }
      await pause(10)
    }
  },
})
