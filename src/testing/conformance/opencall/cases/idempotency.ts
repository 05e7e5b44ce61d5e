/** `ctx.idempotencyKey`: where it is required, and what a repeat does. */
import { randomUUID } from 'node:crypto'
import { must, mustBeObject, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

async function note(server: Subject, text: string, idempotencyKey: string) {
  const { op } = await server.part('note')
  const ctx = { requestId: randomUUID(), idempotencyKey }
  const { envelope } = await expectStatus(200, server.call({ op, args: { text }, ctx }))
  mustEqual(envelope.state, 'complete', 'state')
  return mustBeObject(envelope.result, 'result')
}

export const idempotencyCases = [
  defineCase('key-required', 'an operation that requires a key is not run without one', [35], async (server) => {
    const { op, idempotencyRequired } = await server.part('note')
    mustEqual(idempotencyRequired, true, 'idempotencyRequired')
    const before = await note(server, 'before', randomUUID())

    await expectStatus(400, server.call({ op, args: { text: 'lost' } }))
    await expectStatus(400, server.call({ op, args: { text: 'lost' }, ctx: { requestId: randomUUID() } }))

    const after = await note(server, 'after', randomUUID())
    mustEqual(after.notes, Number(before.notes) + 1, 'The number of notes after two refused ones and one more')
  }),

  defineCase(
    'key-repeated',
    'a repeat with the same key has no second effect and the same outcome',
    [37],
    async (server) => {
      const key = randomUUID()
      const first = await note(server, 'once', key)
      const again = await note(server, 'once', key)
      const together = await Promise.all([note(server, 'once', key), note(server, 'once', key)])
      const other = await note(server, 'once', randomUUID())

      for (const repeat of [again, ...together]) mustEqual(repeat, first, 'The result of a repeat')
      mustEqual(other.notes, Number(first.notes) + 1, 'The number of notes after one more key')
    },
  ),

  defineCase(
    'effects-are-not-cached',
    'an operation with effects is run anew for every new key',
    [144],
    async (server) => {
      const { cachingPolicy } = await server.part('note')
      mustEqual(cachingPolicy, 'none', 'cachingPolicy')
      const one = await note(server, 'the same words', randomUUID())
      const two = await note(server, 'the same words', randomUUID())
      must(one.id !== two.id, 'Two calls with an effect each got the same result.')
    },
  ),

  defineCase('key-on-a-query', 'a key on a query is optional and freezes nothing', [36], async (server) => {
    const { op } = await server.part('add')
    const idempotencyKey = randomUUID()
    for (const b of [2, 3]) {
      const ctx = { requestId: randomUUID(), idempotencyKey }
      const { envelope } = await expectStatus(200, server.call({ op, args: { a: 1, b }, ctx }))
      mustEqual(envelope.result, 1 + b, 'result')
    }
    await expectStatus(200, server.call({ op, args: { a: 1, b: 2 } }))
  }),
]
