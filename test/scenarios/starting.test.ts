/** A failed start leaves nothing open, and one faulty operation does not prevent the others from being served. */
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../src/core/ports/runtime.ts'
import { Carriers } from '../../src/server/mount/carriers.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { startSite, temporaryFolder } from './server.ts'

const operations = [operation('v1:x', { run: () => 1 })]

test('after a failed start, a second start in the same process can succeed', async () => {
  const data = temporaryFolder()
  writeFileSync(join(data, 'objects'), 'in the way')
  await expect(createServer({ operations, data })).rejects.toMatchObject({ kind: 'unavailable' })

  rmSync(join(data, 'objects'))
  const site = await startSite({ operations, data })

  expect((await site.call('v1:x')).body).toMatchObject({ state: 'complete', result: 1 })
})

test('a start that fails after the store was opened closes it', async () => {
  const data = temporaryFolder()
  const tokenEndpoints = { 'not a URL': { allowPrivate: true } }
  await expect(createServer({ operations, data, tokenEndpoints })).rejects.toThrow('tokenEndpoints')

  const site = await startSite({ operations, data })

  expect((await site.call('v1:x')).body).toMatchObject({ state: 'complete', result: 1 })
})

test('a start that fails at the last carrier leaves no timer behind', async () => {
  const taken = createTcpServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { clock, pending } = createCountingClock()
  const announce = { url: 'https://hooks.example/', secretRef: 'hook' }

  const starting = createServer({ operations, data: temporaryFolder(), clock, grpc: { port }, announce })

  await expect(starting).rejects.toThrow(`127.0.0.1:${port} is in use`)
  expect([...pending]).toEqual([])
})

test('a carrier that cannot be closed does not keep the others or the server open', async () => {
  const lines: LogLine[] = []
  const carriers = new Carriers(createMemoryLog(lines))
  const closed: string[] = []
  await carriers.open({ listen: async () => {}, close: () => Promise.reject(new Error('the broker is away')) })
  await carriers.open({ listen: async () => {}, close: async () => void closed.push('other') })

  await carriers.close(0)

  expect(closed).toEqual(['other'])
  expect(lines).toMatchObject([{ level: 'error', message: expect.stringContaining('could not close a carrier') }])
})

/** `pending` has the delays of the timers that are set. */
function createCountingClock() {
  const manual = createManualClock()
  const pending = new Set<{ delayMs: number }>()
  const clock: Clock = {
    now: manual.now,
    monotonicMs: manual.monotonicMs,
    schedule(delayMs, run) {
      const timer = { delayMs }
      pending.add(timer)
      const cancel = manual.schedule(delayMs, () => {
        pending.delete(timer)
        run()
      })
      return () => {
        pending.delete(timer)
        cancel()
      }
    },
  }
  return { clock, pending }
}

test('a name that is too long for a tool is served by OpenCALL alone, and the log says so', async () => {
  const long = (base: string) => `v1:orders.${base.padEnd(53, '_')}`
  const media = [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 10 }]
  const named = operation(long('get'), { run: () => 'got' })
  const attached = operation(long('scan'), { media, run: () => null })
  const fitting = operation('v1:orders.'.padEnd(62, 'x'), { run: () => 1 })
  const lines: LogLine[] = []

  const site = await startSite({ operations: [named, attached, fitting], log: createMemoryLog(lines) })

  const { items } = (await (await site.request('/tools')).json()) as { items: { name: string }[] }
  expect(items.map(({ name }) => name.length)).toEqual([59])
  expect((await site.call(named.name)).body).toMatchObject({ result: 'got' })
  const warnings = lines.filter(({ message }) => message === 'an operation is left out of the tools')
  expect(warnings.map(({ level, fields }) => [level, fields.operation])).toEqual([
    ['warn', `${named.name}@1.0.0`],
    ['warn', `${attached.name}@1.0.0`],
  ])
  expect(warnings[0]?.fields.problem).toMatch(/60 characters, and 59 are allowed\. Give it a shorter name/)
})
