/** "Invocation Response Envelope (Canonical)": one envelope, with exactly one payload that fits its state. */
import { randomUUID } from 'node:crypto'
import { must, mustBeEpochSeconds, mustBeObject, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import type { Answered, Subject } from '../subject.ts'

/** One answer of every kind that can be had without a stream; each of them is checked on its way in. */
async function everyKind(server: Subject): Promise<Answered[]> {
  const ops = await Promise.all([server.part('add'), server.part('draw'), server.part('report'), server.part('ring')])
  const [add, draw, report, ring] = ops.map(({ op }) => op)
  const ctx = () => ({ requestId: randomUUID(), sessionId: randomUUID() })
  return [
    await server.call({ op: add, args: { a: 1, b: 2 }, ctx: ctx() }),
    await server.call({ op: draw, args: { radius: 5 }, ctx: ctx() }),
    await server.call({ op: report, args: { month: '2026-01', steps: 1 }, ctx: ctx() }),
    await server.call({ op: ring, args: { doorbell_id: 'nobody' }, ctx: ctx() }),
    await server.call({ op: add, args: {}, ctx: ctx() }),
    await server.call({ op: 'v1:No.SuchOperation' }),
    await server.ask(`/ops/${randomUUID()}`),
    await server.ask('/call'),
  ]
}

export const responseCases = [
  defineCase(
    'envelope-of-every-answer',
    'every answer has a requestId, a known state, and exactly the one payload of that state',
    [49, 50, 57, 58, 60, 61, 63, 79],
    async (server) => {
      const states = (await everyKind(server)).map(({ envelope }) => envelope.state)
      mustEqual(states.slice(0, 4), ['complete', 'complete', 'accepted', 'error'], 'The states of four kinds of call')
      mustEqual(new Set(states.slice(4)), new Set(['error']), 'The states of refusals')
    },
  ),

  defineCase('no-signature-in-the-envelope', 'nothing in an envelope signs it', [217], async (server) => {
    for (const { envelope } of await everyKind(server)) {
      const signing = Object.keys(envelope).filter((key) => /^(?:sig|signature|signed|jws|mac|hmac|proof)/i.test(key))
      mustEqual(signing, [], 'Fields of the envelope that sign it')
    }
  }),

  defineCase(
    'call-is-not-cacheable',
    'no answer to POST /call may be kept by an intermediary',
    [141],
    async (server) => {
      for (const { asked, headers } of await everyKind(server)) {
        if (asked !== 'POST /call') continue
        const policy = headers.get('cache-control') ?? ''
        must(/\bno-store\b/i.test(policy), `Cache-Control is "${policy}".`)
      }
    },
  ),

  defineCase(
    'complete-inline',
    'a result that is delivered inline stands in result, with state complete',
    [53, 94],
    async (server) => {
      const { op } = await server.part('add')
      const { envelope } = await expectStatus(200, server.call({ op, args: { a: 0.5, b: -0.5 } }))
      mustEqual([envelope.state, envelope.result], ['complete', 0], 'state and result')
    },
  ),

  defineCase(
    'complete-located',
    'a result that is hosted stands in location, with state complete',
    [53, 81, 83],
    async (server) => {
      const { op } = await server.part('draw')
      const { envelope } = await server.call({ op, args: { radius: 5 } })
      mustEqual(envelope.state, 'complete', 'state')
      must(envelope.location !== undefined, 'There is no location.')
      const fetched = await expectStatus(200, server.send(envelope.location.uri))
      must(fetched.bytes.length > 0, 'There is nothing at location.uri.')
    },
  ),

  defineCase(
    'domain-failure',
    'a business failure of a sync operation is 200 with state error and a structured error',
    [55, 125, 127, 128, 212],
    async (server) => {
      const { op } = await server.part('ring')
      const args = { doorbell_id: 'no-such-doorbell' }
      const { envelope } = await expectStatus(200, server.call({ op, args, ctx: { requestId: randomUUID() } }))
      mustEqual(envelope.state, 'error', 'state')
      mustEqual(envelope.error?.code, 'DOORBELL_NOT_FOUND', 'error.code')
      mustEqual(envelope.error?.message, 'Doorbell ID not found', 'error.message')
      mustBeObject(envelope.error?.cause, 'error.cause')
    },
  ),

  defineCase(
    'sync-retained',
    'a sync operation with a ttl says until when its outcome is kept, and it is kept',
    [90, 272],
    async (server) => {
      const { op, ttlSeconds } = await server.part('note')
      const ctx = { requestId: randomUUID(), idempotencyKey: randomUUID() }
      const { envelope } = await expectStatus(200, server.call({ op, args: { text: 'kept' }, ctx }))
      const expiresIn = mustBeEpochSeconds(envelope.expiresAt, 'expiresAt') - Date.now() / 1000
      must(Math.abs(expiresIn - Number(ttlSeconds)) < 60, `expiresAt is ${expiresIn} s away, not ${ttlSeconds}.`)

      const polled = await expectStatus(200, server.ask(`/ops/${ctx.requestId}`, {}, { requestId: ctx.requestId }))

      mustEqual(polled.envelope.result, envelope.result, 'result of the poll')
      mustEqual(polled.envelope.expiresAt, envelope.expiresAt, 'expiresAt of the poll')
    },
  ),

  defineCase('status-codes', 'each outcome has the status the table gives it', [301], async (server) => {
    const kinds = await everyKind(server)
    // A result elsewhere is 303 exactly where it is a redirect: with the header that makes it one.
    const redirects = kinds[1]?.headers.get('location') !== null
    mustEqual(
      kinds.map(({ status }) => status),
      [200, redirects ? 303 : 202, 202, 200, 400, 400, 404, 405],
      'status of inline, elsewhere, accepted, failed, invalid, unknown, not found, not allowed',
    )
    const { status, envelope } = await server.call({ op: server.names.removed })
    mustEqual(status, envelope.error?.code === 'UNKNOWN_OP' ? 400 : 410, `status of ${envelope.error?.code}`)
  }),
]
