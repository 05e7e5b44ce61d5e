/** `callplane call --follow` of a stream: frames as lines, live; Ctrl-C unsubscribes. */
import { once } from 'node:events'
import { jsonSchema, operation } from 'callplane'
import { expect, test, vi } from 'vitest'
import { createGate, startSite } from '../scenarios/server.ts'
import { runCommand } from './streams.ts'

vi.setConfig({ testTimeout: 30_000 })

const N = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

test('prints each frame as a line of JSON, and ends with the stream', async () => {
  const count = operation('v1:clock.count', { frame: N, run: () => [{ n: 1 }, { n: 2 }] })
  const site = await startSite({ operations: [count] })

  const followed = await runCommand(['call', 'v1:clock.count', '--follow', '--url', site.url])
  const plain = await runCommand(['call', 'v1:clock.count', '--url', site.url])

  expect(followed).toEqual({ code: 0, stdout: '{"n":1}\n{"n":2}\n', stderr: '' })
  expect(JSON.parse(plain.stdout)).toMatchObject({ state: 'streaming', stream: { auth: { credentialType: 'otk' } } })
})

test('a stream that fails is exit 1, with its reason', async () => {
  const broken = operation('v1:clock.broken', {
    frame: N,
    *run(_args, ctx) {
      yield { n: 1 }
      ctx.fail('CLOCK_STOPPED', 'The clock has stopped.')
    },
  })
  const site = await startSite({ operations: [broken] })

  const { code, stdout, stderr } = await runCommand(['call', 'v1:clock.broken', '--follow', '--url', site.url])

  expect({ code, stdout }).toEqual({ code: 1, stdout: '{"n":1}\n' })
  expect(stderr).toContain('CLOCK_STOPPED: The clock has stopped.')
})

test('Ctrl-C unsubscribes: the handler stops at once', async () => {
  const began = createGate()
  const stopped = Promise.withResolvers<unknown>()
  const endless = operation('v1:clock.endless', {
    frame: N,
    async *run(_args, { signal }) {
      yield { n: 1 }
      void began.pass()
      await once(signal, 'abort')
      stopped.resolve((signal.reason as { kind: string }).kind)
    },
  })
  const site = await startSite({ operations: [endless] })
  const interrupt = new AbortController()
  const following = runCommand(['call', 'v1:clock.endless', '--follow', '--url', site.url], {
    signal: interrupt.signal,
  })
  await began.began

  interrupt.abort()

  expect(await stopped.promise).toBe('canceled')
  expect(await following).toMatchObject({ code: 130, stderr: '' })
})

test('the list of operations names the model', async () => {
  const count = operation('v1:clock.count', { frame: N, run: () => [] })
  const site = await startSite({ operations: [count] })

  const { stdout } = await runCommand(['ops', '--url', site.url])

  expect(stdout).toMatch(/^v1:clock\.count +stream/m)
})
