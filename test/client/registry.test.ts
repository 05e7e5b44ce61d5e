/** What the client learns of operations: the registry, and which are deprecated. */
import { operation } from 'callplane'
import { createClient } from 'callplane/client'
import { expect, test } from 'vitest'
import { verifies } from '../requirements.ts'
import { startSite } from '../scenarios/server.ts'

const ping = operation('v1:ping', { run: () => 'pong' })

test('the registry is asked for again with its tag, and kept if it has not changed', async () => {
  verifies('opencall:280')
  const { url } = await startSite({ operations: [ping] })
  const statuses: number[] = []
  const api = createClient<[typeof ping]>({
    url,
    async fetch(input, init) {
      const response = await fetch(input, init)
      statuses.push(response.status)
      return response
    },
  })

  const first = await api.registry()
  const second = await api.registry()

  expect(first.operations.map(({ op }) => op)).toContain('v1:ping')
  expect(second).toBe(first)
  expect(statuses).toEqual([200, 304])
})

test('a deprecated operation is warned about once, with its replacement and its last day', async () => {
  verifies('opencall:263')
  const old = operation('v1:orders.find', {
    deprecated: { sunset: '2999-12-31', replacement: 'v2:orders.find' },
    run: () => 'found',
  })
  const { url } = await startSite({ operations: [old, ping] })
  const warnings: string[] = []
  const api = createClient<[typeof old, typeof ping]>({ url, onWarning: (text) => warnings.push(text) })

  await api.orders.find()
  await api.orders.find()
  await api.ping()

  expect(warnings).toEqual([
    'v1:orders.find is deprecated, and served until Tue, 31 Dec 2999 23:59:59 GMT. Use v2:orders.find instead.',
  ])
})
