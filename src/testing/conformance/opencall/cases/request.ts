/** "Invocation Request Envelope": `op`, `args`, `ctx` and what else may be in it. */
import { randomUUID } from 'node:crypto'
import { must, mustBeUuid, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

export const requestCases = [
  defineCase('malformed', 'a body that is no JSON object is 400', [107, 129], async (server) => {
    const bodies = ['', '{', 'null', '[]', '"v1:Calculator.Add"', '{"op":"v1:Calculator.Add",}', new Uint8Array([0xff])]
    for (const body of bodies) {
      const { envelope } = await expectStatus(400, server.post(body, { headers: JSON_TYPE }))
      mustBeUuid(envelope.requestId, 'The generated requestId')
    }
  }),

  defineCase('op-required', '"op" must be there and be a string', [19, 129], async (server) => {
    for (const op of [undefined, null, 7, ['v1:Calculator.Add'], {}]) {
      await expectStatus(400, server.call({ op, args: { a: 1, b: 2 } }))
    }
  }),

  defineCase('unknown-operation', 'an operation that does not exist is 400, not 404', [108, 129], async (server) => {
    const op = 'v1:No.SuchOperation'
    const { envelope } = await expectStatus(400, server.call({ op, args: {}, ctx: { requestId: randomUUID() } }))
    must(JSON.stringify(envelope.error).includes(op), 'The error does not name the operation it does not know.')
  }),

  defineCase(
    'args-validated',
    'args that break the schema are 400, and the answer says where',
    [20, 109, 129],
    async (server) => {
      const { op } = await server.part('ring')
      for (const args of [{ doorbell_id: 42 }, {}, { doorbell_id: null }]) {
        const { envelope } = await expectStatus(400, server.call({ op, args }))
        const { error } = envelope
        must(JSON.stringify(error).includes('doorbell_id'), `The error does not say what is wrong: ${error?.message}`)
      }
      await expectStatus(400, server.call({ op, args: ['doorbell42'] }))
    },
  ),

  defineCase('args-absent', 'no args are the same as {}', [21], async (server) => {
    const { op: lenient } = await server.part('draw')
    const { op: demanding } = await server.part('add')

    const { envelope } = await server.call({ op: lenient })
    const refused = await expectStatus(400, server.call({ op: demanding }))
    const same = await expectStatus(400, server.call({ op: demanding, args: {} }))

    mustEqual(envelope.state, 'complete', `state of ${lenient} without args`)
    mustEqual(refused.envelope.error, same.envelope.error, 'error for absent args')
  }),

  defineCase(
    'request-id-generated',
    'without ctx the server makes a new UUID for every call',
    [29, 30],
    async (server) => {
      const { op } = await server.part('add')
      const one = await expectStatus(200, server.call({ op, args: { a: 1, b: 2 } }))
      const two = await expectStatus(200, server.call({ op, args: { a: 1, b: 2 } }))
      mustBeUuid(one.envelope.requestId, 'The generated requestId')
      mustBeUuid(two.envelope.requestId, 'The generated requestId')
      must(one.envelope.requestId !== two.envelope.requestId, 'Two calls got the same generated requestId.')
    },
  ),

  defineCase(
    'request-id-echoed',
    "the caller's requestId comes back, on refusals as well",
    [32, 49],
    async (server) => {
      const { op } = await server.part('add')
      const { op: other } = await server.part('ring')
      const envelopes = [
        { op, args: { a: 1, b: 2 } },
        { op, args: { a: 'one' } },
        { op: 'v1:No.SuchOperation' },
        { op: other, args: { doorbell_id: 'nobody' } },
        { args: {} },
      ]
      for (const envelope of envelopes) await server.call({ ...envelope, ctx: { requestId: randomUUID() } })
    },
  ),

  defineCase(
    'request-id-in-refusals',
    'a refusal of a request without a usable requestId has a generated one',
    [130],
    async (server) => {
      const { op } = await server.part('add')
      const refused = [
        await expectStatus(400, server.post('not JSON', { headers: JSON_TYPE })),
        await expectStatus(400, server.call({ op: 'v1:No.SuchOperation' })),
        await expectStatus(400, server.call({ op, args: { a: 1, b: 2 }, ctx: { requestId: 7 } })),
        await expectStatus(400, server.call({ op, args: { a: 1, b: 2 }, ctx: 'none' })),
      ]
      for (const { envelope } of refused) mustBeUuid(envelope.requestId, 'The generated requestId')
    },
  ),

  defineCase(
    'session-echoed',
    'sessionId comes back as it was sent, and is absent where none was',
    [5, 33, 56],
    async (server) => {
      const { op } = await server.part('add')
      const { op: other } = await server.part('ring')
      const sessions = ['mission-001', randomUUID(), 'Sitzung Nr. 5 – für Ägypten']
      for (const sessionId of sessions) {
        await server.call({ op, args: { a: 1, b: 2 }, ctx: { requestId: randomUUID(), sessionId } })
        await server.call({ op: other, args: { doorbell_id: 'nobody' }, ctx: { requestId: randomUUID(), sessionId } })
        await server.call({ op, args: {}, ctx: { requestId: randomUUID(), sessionId } })
      }
      await server.call({ op, args: { a: 1, b: 2 }, ctx: { requestId: randomUUID() } })
    },
  ),

  defineCase('locale', 'a locale changes words and never fails', [40], async (server) => {
    const { op } = await server.part('successor')
    const greet = async (ctx: object) => {
      const sent = { ...ctx, requestId: randomUUID() }
      const { envelope } = await expectStatus(200, server.call({ op, args: { name: 'Ada' }, ctx: sent }))
      return envelope.result
    }
    mustEqual(await greet({}), { greeting: 'Hello Ada' }, 'The greeting without a locale')
    mustEqual(await greet({ locale: 'de-AT' }), { greeting: 'Hallo Ada' }, 'The greeting for de-AT')
    mustEqual(await greet({ locale: 'no-such-locale' }), { greeting: 'Hello Ada' }, 'The greeting for an unknown one')
  }),

  defineCase(
    'unknown-fields',
    'every field of ctx is taken, and fields the server does not know are passed over',
    [47],
    async (server) => {
      const { op } = await server.part('add')
      const ctx = {
        requestId: randomUUID(),
        sessionId: randomUUID(),
        parentId: randomUUID(),
        idempotencyKey: randomUUID(),
        timeoutMs: 2_500,
        locale: 'en-AU',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        fromTheFuture: { deep: [1] },
      }
      const { envelope } = await expectStatus(
        200,
        server.call({ op, args: { a: 1, b: 2 }, ctx, meta: {}, fromTheFuture: 'yes' }),
      )
      mustEqual(envelope.result, 3, 'result')
    },
  ),
]
