/** "Invocation Response Envelope (Canonical)": one envelope, with exactly one payload that fits its state. */
import { randomUUID } from 'node:crypto'
import { must, mustBeEpochSeconds, mustBeOneOf, mustEqual, should } from '../../assertions.ts'
import { NotApplicable, type Parts } from '../../case.ts'
import { alone } from '../../define.ts'
import { expectStatus, type HttpAnswer } from '../../http.ts'
import { mustFit, nameOf } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { type Answered, NO_OPERATION, type Subject } from '../subject.ts'

interface Kind extends Answered {
  kind: string
  states: readonly string[]
  statuses: readonly number[]
}

/** Returns one response of every kind that the server can produce. Each is checked on receipt. */
async function everyKind(server: Subject): Promise<Kind[]> {
  const ctx = () => ({ requestId: randomUUID(), sessionId: randomUUID() })
  const kinds: Kind[] = []
  const add = (kind: string, answer: Answered, states: readonly string[], statuses: readonly number[]) =>
    kinds.push({ ...answer, kind, states, statuses })
  const has = (part: keyof Parts) => server.target.operations?.[part] !== undefined

  if (has('sync'))
    add('an inline result', await server.invoke(await server.part('sync'), { ctx: ctx() }), ['complete'], [200])
  if (has('file')) {
    const answer = await server.invoke(await server.part('file'), { ctx: ctx() })
    // A result at a location is 303 only if it has the Location header; otherwise it is 202.
    add('a result elsewhere', answer, ['complete', 'accepted'], [answer.headers.has('location') ? 303 : 202])
  }
  if (has('async')) {
    add('an accepted call', await server.invoke(await server.part('async'), { ctx: ctx() }), ['accepted'], [202])
  }
  if (has('failing')) {
    const failing = await server.part('failing')
    const args = failing.example.fails?.args ?? failing.args
    add('a domain failure', await server.invoke(failing, { args, ctx: ctx() }), ['error'], [200, 202])
  }
  add('an unknown operation', await server.call({ op: NO_OPERATION }), ['error'], [400])
  add('a call that is not there', await server.ask(`/ops/${randomUUID()}`), ['error'], [404])
  return kinds
}

export const responseCases = [
  defineCase(
    'envelope-of-every-answer',
    'every response has a requestId, a known state, and exactly the one payload of that state',
    [49, 50, 57, 58, 60, 61, 63, 79],
    async (server) => {
      for (const { kind, envelope, states } of await everyKind(server)) {
        mustBeOneOf(envelope.state, states, `state of ${kind}`)
      }
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
    'no response to POST /call allows intermediaries to cache it',
    [141],
    async (server) => {
      for (const answer of await everyKind(server)) if (answer.asked === 'POST /call') mustNotBeKept(answer)
    },
  ),

  defineCase('complete-inline', 'an inline result is in result, with state complete', [53, 94], async (server) => {
    const part = await server.part('sync')
    const { envelope } = await expectStatus(200, server.invoke(part))
    mustEqual(envelope.state, 'complete', 'state')
    must('result' in envelope, 'There is no result.')
    mustFit(part, envelope.result)
  }),

  defineCase(
    'complete-located',
    'a hosted result is in location, with state complete',
    [53, 81, 83],
    async (server) => {
      const part = await server.part('file')
      const { envelope } = await server.invoke(part)
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
      const part = await server.part('failing')
      const { args = part.args, code, message } = part.example.fails ?? {}
      const { envelope } = await expectStatus(200, server.invoke(part, { args, ctx: { requestId: randomUUID() } }))
      mustEqual(envelope.state, 'error', 'state')
      if (code !== undefined) mustEqual(envelope.error?.code, code, 'error.code')
      if (message !== undefined) mustEqual(envelope.error?.message, message, 'error.message')
    },
  ),

  alone(
    defineCase(
      'sync-retained',
      'a sync operation with a ttl says until when its outcome is kept, and it is kept',
      [90, 272],
      async (server) => {
        const part = await server.part(server.target.operations?.effect === undefined ? 'sync' : 'effect')
        const ttlSeconds = Number(part.entry.ttlSeconds ?? 0)
        if (!(ttlSeconds > 0)) throw new NotApplicable(`${part.op} has no ttlSeconds.`)
        const ctx = { requestId: randomUUID(), idempotencyKey: randomUUID() }
        const { envelope } = await expectStatus(200, server.invoke(part, { ctx }))
        const expiresIn = mustBeEpochSeconds(envelope.expiresAt, 'expiresAt') - Date.now() / 1000
        must(Math.abs(expiresIn - ttlSeconds) < 60, `expiresAt is ${expiresIn} s away, not ${ttlSeconds}.`)

        const polled = await expectStatus(200, server.ask(`/ops/${ctx.requestId}`, {}, { requestId: ctx.requestId }))

        mustEqual(polled.envelope.result, envelope.result, 'result of the poll')
        mustEqual(polled.envelope.expiresAt, envelope.expiresAt, 'expiresAt of the poll')
      },
      'should',
    ),
  ),

  defineCase('status-codes', 'each outcome has the status the table gives it', [301], async (server) => {
    for (const { kind, status, statuses } of await everyKind(server)) mustBeOneOf(status, statuses, `status of ${kind}`)
    if (server.target.operations?.removed !== undefined) {
      const { status, envelope } = await server.call({ op: nameOf(server.target, 'removed') })
      mustEqual(status, envelope.error?.code === 'UNKNOWN_OP' ? 400 : 410, `status of ${envelope.error?.code}`)
    }
    const { status } = await server.send('/call')
    should(status === 405, `GET /call gets ${status}, not 405.`)
  }),
]

/** Caches store a response to a POST only with explicit freshness (RFC 9110, "POST"), so no header is fine. */
function mustNotBeKept({ headers }: HttpAnswer): void {
  const policy = headers.get('cache-control') ?? ''
  const fresh = /\b(?:s-maxage|max-age)\s*=\s*"?[1-9]/i.test(policy) || headers.has('expires')
  const refuses = /\b(?:no-store|no-cache|private)\b/i.test(policy)
  should(refuses || !fresh, `Cache-Control is "${policy}".`)
}
