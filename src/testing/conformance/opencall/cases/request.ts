/** "Invocation Request Envelope": `op`, `args`, `ctx` and the optional fields. */
import { randomUUID } from 'node:crypto'
import { ideally, must, mustBeUuid, mustEqual, should, shown } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { mustFit, refusedArguments } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { checkEnvelope } from '../envelope.ts'
import { NO_OPERATION } from '../subject.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

export const requestCases = [
  defineCase('malformed', 'a body that is not a JSON object is 400', [107, 129], async (server) => {
    const bodies = ['', '{', 'null', '[]', '"v1:any.operation"', '{"op":"v1:any.operation",}', new Uint8Array([0xff])]
    for (const body of bodies) {
      const what = body === '' ? 'An empty body' : `The body ${typeof body === 'string' ? body : 'of one byte, 0xff,'}`
      const pending = server.send('/call', { method: 'POST', body, headers: JSON_TYPE })
      const { requestId } = checkEnvelope(await expectStatus(400, pending, what))
      mustBeUuid(requestId, 'The generated requestId')
    }
  }),

  defineCase('op-required', '"op" must be there and be a string', [19, 129], async (server) => {
    for (const op of [undefined, null, 7, ['v1:any.operation'], {}]) {
      await expectStatus(400, server.call({ op, args: {} }), `The op ${shown(op)}`)
    }
  }),

  defineCase('unknown-operation', 'an operation that does not exist is 400, not 404', [108, 129], async (server) => {
    const sent = { op: NO_OPERATION, args: {}, ctx: { requestId: randomUUID() } }
    const { envelope } = await expectStatus(400, server.call(sent))
    ideally(JSON.stringify(envelope.error).includes(NO_OPERATION), 'The error does not name the unknown operation.')
  }),

  defineCase(
    'args-validated',
    'args that break the schema are 400, and the response says where',
    [20, 109, 129],
    async (server) => {
      const part = await server.part('validated')
      const refused = []
      for (const { args, at } of refusedArguments(part)) {
        refused.push({
          at,
          ...(await expectStatus(400, server.invoke(part, { args }), `${part.op} with a wrong "${at}"`)),
        })
      }
      await expectStatus(400, server.invoke(part, { args: ['not', 'an', 'object'] }), 'An array as args')
      for (const { at, envelope } of refused) {
        should(
          JSON.stringify(envelope.error).includes(at),
          `The error does not say that "${at}" is wrong: ${shown(envelope.error)}`,
        )
      }
    },
  ),

  defineCase('args-absent', 'absent args are the same as {}', [21], async (server) => {
    const lenient = await server.part('lenient')
    const { envelope } = await server.call({ op: lenient.op })
    mustEqual(envelope.state, 'complete', `state of ${lenient.op} without args`)

    if (server.target.operations?.validated === undefined) return
    const { op, argsSchema } = await server.part('validated')
    if (!Array.isArray((argsSchema as { required?: unknown }).required)) return
    const refused = await expectStatus(400, server.call({ op }))
    const same = await expectStatus(400, server.call({ op, args: {} }))
    mustEqual(refused.envelope.error?.code, same.envelope.error?.code, 'error.code for absent args')
  }),

  defineCase(
    'request-id-generated',
    'without ctx the server makes a new UUID for every call',
    [29, 30],
    async (server) => {
      const { op, args } = await server.part('sync')
      const one = await expectStatus(200, server.call({ op, args }))
      const two = await expectStatus(200, server.call({ op, args }))
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
      const { op, args } = await server.part('sync')
      for (const envelope of [{ op: NO_OPERATION }, { args: {} }, { op, args }, { op, args: [] }]) {
        await server.call({ ...envelope, ctx: { requestId: randomUUID() } })
      }
      if (server.target.operations?.failing === undefined) return
      const failing = await server.part('failing')
      const ctx = { requestId: randomUUID() }
      await server.invoke(failing, { args: failing.example.fails?.args ?? failing.args, ctx })
    },
  ),

  defineCase(
    'request-id-in-refusals',
    'a refusal of a request without a usable requestId has a generated one',
    [130],
    async (server) => {
      const { op, args } = await server.part('sync')
      const answers = [
        await expectStatus(400, server.post('not JSON', { headers: JSON_TYPE })),
        await expectStatus(400, server.call({ op: NO_OPERATION })),
        await server.call({ op, args, ctx: { requestId: 7 } }),
        await server.call({ op, args, ctx: 'none' }),
      ]
      for (const { envelope } of answers) mustBeUuid(envelope.requestId, 'The generated requestId')
    },
  ),

  defineCase(
    'session-echoed',
    'sessionId is returned as it was sent, and is absent if none was sent',
    [5, 33, 56],
    async (server) => {
      const { op, args } = await server.part('sync')
      const sessions = ['mission-001', randomUUID(), 'Sitzung Nr. 5 – für Ägypten']
      for (const sessionId of sessions) {
        await server.call({ op, args, ctx: { requestId: randomUUID(), sessionId } })
        await server.call({ op: NO_OPERATION, ctx: { requestId: randomUUID(), sessionId } })
        await server.call({ op, args: [], ctx: { requestId: randomUUID(), sessionId } })
      }
      await server.call({ op, args, ctx: { requestId: randomUUID() } })
    },
  ),

  defineCase('locale', 'a locale may change texts and never fails', [40], async (server) => {
    const part = await server.part('sync')
    for (const locale of ['en', 'de-AT', 'no-such-locale']) {
      const ctx = { requestId: randomUUID(), locale }
      const { envelope } = await expectStatus(200, server.call({ op: part.op, args: part.args, ctx }))
      mustEqual(envelope.state, 'complete', `state with the locale ${locale}`)
    }
  }),

  defineCase(
    'unknown-fields',
    'every field of ctx is accepted, and unknown fields are ignored',
    [47],
    async (server) => {
      const part = await server.part('sync')
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
      const sent = { op: part.op, args: part.args, ctx, meta: {}, fromTheFuture: 'yes' }
      const { envelope } = await expectStatus(200, server.call(sent))
      mustFit(part, envelope.result)
    },
    'should',
  ),
]
