/** Runs of the full client: progress, cancellation, and a server that goes away and comes back. */
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import { createClient } from 'callplane/client'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { startSite, temporaryFolder } from '../scenarios/server.ts'

const report = operation('v1:reports.generate', {
  args: z.object({ steps: z.number() }),
  result: z.object({ rows: z.number() }),
  model: 'async',
  async run({ steps }, ctx) {
    for (let step = 1; step <= steps; step++) {
      ctx.progress(step / steps, `step ${step}`)
      await pause(30, undefined, { signal: ctx.signal })
    }
    return { rows: steps }
  },
})

test('a run shows its progress while it goes on, then its result', async () => {
  const { url } = await startSite({ operations: [report] })
  const api = createClient<[typeof report]>({ url })

  const run = await api.reports.generate.start({ steps: 4 })
  const seen: number[] = []
  for await (const { fraction } of run.progress()) seen.push(fraction)
  const result = await run.result()

  expectTypeOf(result).toEqualTypeOf<{ rows: number }>()
  expect(result).toEqual({ rows: 4 })
  // Some may pass between two looks, but the order stays.
  expect(seen.length).toBeGreaterThan(1)
  expect(seen).toEqual([...seen].sort())
})

test('a run can be cancelled, and its result is then the fault', async () => {
  const { url } = await startSite({ operations: [report] })
  const api = createClient<[typeof report]>({ url })

  const run = await api.reports.generate.start({ steps: 10_000 })
  await run.cancel()

  await expect(run.result()).rejects.toMatchObject({ code: 'CANCELED', outcome: 'failed', requestId: run.id })
})

test('a result is waited for while the server restarts', async () => {
  const data = temporaryFolder()
  const first = await startSite({ operations: [report], data })
  const { port } = new URL(first.url)
  const api = createClient<[typeof report]>({ url: first.url })

  const run = await api.reports.generate.start({ steps: 20 })
  const waiting = run.result()
  await first.close()
  const second = await import('callplane').then(({ createServer }) => createServer({ operations: [report], data }))
  await second.listen({ port: Number(port) })
  try {
    expect(await waiting).toEqual({ rows: 20 })
  } finally {
    await second.close(0)
  }
})
