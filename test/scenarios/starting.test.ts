/** A failed start leaves nothing open, and one faulty operation does not prevent the others from being served. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServer, operation } from 'callplane'
import { expect, test } from 'vitest'
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
