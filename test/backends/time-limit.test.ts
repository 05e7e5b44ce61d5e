/** A tool that never responds is cut off at the default time limit. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { createStepClock, startSite } from '../scenarios/server.ts'
import { openTool } from './tool-server.ts'

const A_MINUTE = 60_000

test('an operation on a backend has a minute for each attempt unless it says otherwise, a function has no limit', async () => {
  const backend = { kind: 'http', endpoint: 'https://tools.example/run' }
  const { server } = await startSite({
    operations: [
      operation('v1:remote.usual', { backend }),
      operation('v1:remote.own', { backend, timeoutMs: 5 }),
      operation('v1:local.usual', { run: () => 1 }),
    ],
  })

  const limitOf = (name: string) => server.registry.byKey(`v1:${name}@1.0.0`)?.timeoutMs
  expect(['remote.usual', 'remote.own', 'local.usual'].map(limitOf)).toEqual([A_MINUTE, 5, undefined])
})

test('a tool that never answers ends in a timeout after that minute', async () => {
  const tool = await openTool(() => {})
  const clock = createStepClock()
  const backend = { kind: 'http', endpoint: tool.url, allowPrivate: true }
  const site = await startSite({ clock, operations: [operation('v1:remote.run', { backend, model: 'async' })] })
  const { body } = await site.call('v1:remote.run', {})
  const ended = site.ended(body.requestId)
  await tool.begun
  await clock.timer(A_MINUTE)

  clock.advance(A_MINUTE - 1)
  expect((await site.poll(body.requestId)).body.state).toBe('pending')
  clock.advance(1)

  const error = { code: 'PANIC_TIMEOUT', cause: { timeoutMs: A_MINUTE } }
  expect((await ended).body).toMatchObject({ state: 'error', error })
})
