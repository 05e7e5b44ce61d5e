/** Waiting for the compiler or for a free thread does not count as the time of a wasm tool. */
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { webAssembly } from '../../src/backends/wasm/webassembly.ts'
import { createGate, createStepClock, startSite } from '../scenarios/server.ts'
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

test('a call that waits for the compiler has its whole time once the module is compiled', async () => {
  const compile = webAssembly.compile
  const gate = createGate()
  const slow = vi.spyOn(webAssembly, 'compile').mockImplementation(async (bytes) => {
    await gate.pass()
    return compile(bytes)
  })
  onTestFinished(() => slow.mockRestore())
  const { clock, site } = await startTool()
  await site.call('v1:tool.hang', {}, { requestId: 'first' })
  await gate.began
  clock.advance(10 * A_SECOND)
  gate.open(undefined)

  await clock.timer(A_SECOND)
  const meanwhile = await site.poll('first')
  clock.advance(A_SECOND)

  expect(meanwhile.body.state).toBe('pending')
  expect((await site.ended('first')).body).toMatchObject({ state: 'error', error: { code: 'PANIC_TIMEOUT' } })
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
