/** A wasm tool with fewer threads than calls: waiting for a thread does not count as the tool's time. */
import { operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { createStepClock, startSite } from '../scenarios/server.ts'
import { compileWat, folderWith, WAT } from './wasm-modules.ts'

vi.setConfig({ testTimeout: 30_000 })

const A_SECOND = 1_000

async function startTool(rules: object = {}) {
  const clock = createStepClock()
  const module = `${folderWith(await compileWat(WAT.loop))}/tool.wasm`
  const backend = { kind: 'wasm', module, threads: 1 }
  const hang = operation('v1:tool.hang', { model: 'async', timeoutMs: A_SECOND, ...rules, backend })
  const site = await startSite({ operations: [hang], clock })
  return { clock, site }
}

test('a call that waits for a thread has its whole time once it gets one', async () => {
  const { clock, site } = await startTool()
  await site.call('v1:tool.hang', {}, { requestId: 'runs' })
  await clock.timer(A_SECOND)
  const began = clock.now()
  clock.advance(A_SECOND / 2)
  await site.call('v1:tool.hang', {}, { requestId: 'waits' })
  clock.advance(A_SECOND / 2)
  await site.ended('runs')

  // The thread is free, and the second call's time begins: not before, or half of it would be over.
  await clock.timer(A_SECOND)
  clock.advance(A_SECOND - 1)
  const meanwhile = await site.poll('waits')
  clock.advance(1)
  const ended = await site.ended('waits')

  expect(meanwhile.body.state).toBe('pending')
  expect(ended.body).toMatchObject({ state: 'error', error: { code: 'PANIC_TIMEOUT' } })
  expect(clock.now() - began).toBe(2 * A_SECOND)
})

test('the deadline of a call runs while it waits for a thread', async () => {
  const { clock, site } = await startTool({ timeoutMs: 10 * A_SECOND, deadlineMs: 2 * A_SECOND })
  await site.call('v1:tool.hang', {}, { requestId: 'runs' })
  clock.advance(A_SECOND)
  await site.call('v1:tool.hang', {}, { requestId: 'waits' })
  await clock.timer(2 * A_SECOND)
  clock.advance(A_SECOND)
  await site.ended('runs')
  clock.advance(A_SECOND)

  expect((await site.ended('waits')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_TIMEOUT' } })
})
