/** "Asynchronous" execution, "Asynchronous Result Retrieval" and the state machine behind them. */
import { randomUUID } from 'node:crypto'
import { must, mustBeEpochSeconds, mustEqual, should } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { alone } from '../../define.ts'
import { expectStatus, parseJson } from '../../http.ts'
import { mustFit } from '../../parts.ts'
import { defineCase } from '../define.ts'
import { checkEnvelope } from '../envelope.ts'
import { awaitEnd, lastOf, pollToEnd, startCall } from '../following.ts'

const ORDER = ['accepted', 'pending', 'complete']
/** A call of this duration must be seen pending when it is polled at the server's rate. */
const SEEN_PENDING_MS = 500
const POLLS = 60

export const asyncCases = [
  defineCase(
    'async-accepted',
    'an async call is 202, accepted, and says where to poll, how often and until when',
    [51, 80, 88, 89, 96, 98, 105],
    async (server) => {
      const part = await server.part('async')
      const ctx = { requestId: randomUUID(), sessionId: randomUUID() }
      const { envelope } = await expectStatus(202, server.invoke(part, { ctx }))
      mustEqual(envelope.state, 'accepted', 'state')
      must(envelope.location !== undefined, 'There is no location to poll.')
      should(
        envelope.expiresAt !== undefined,
        'There is no expiresAt, so the caller cannot know how long the result is kept.',
      )
    },
  ),

  defineCase(
    'async-to-the-end',
    'polling ends in complete with the result; every response before that is a whole envelope',
    [5, 52, 78, 97, 151, 290, 291],
    async (server) => {
      const part = await server.part('async')
      const { ids, uri } = await startCall(server, part)
      const answers = await pollToEnd(server, uri, ids)
      const states = answers.map(({ envelope }) => envelope.state)

      if (Number(part.example.takesMs) >= SEEN_PENDING_MS) {
        must(states.includes('pending'), `A call of half a second was never pending: ${states.join(', ')}.`)
      }
      const ranks = states.map((state) => ORDER.indexOf(state))
      must(
        ranks.every((rank, at) => rank >= (ranks[at - 1] ?? 0)),
        `The state went back: ${states.join(', ')}.`,
      )
      const { envelope } = lastOf(answers)
      mustEqual(envelope.state, 'complete', 'The last state')
      if (envelope.location === undefined) mustFit(part, envelope.result)
    },
  ),

  defineCase(
    'poll-status',
    'a poll is 202 until there is a result, and then 200 with the result',
    [105, 150],
    async (server) => {
      const part = await server.part('async')
      const { ids } = await startCall(server, part)
      for (const { status, envelope } of await pollToEnd(server, `/ops/${ids.requestId}`, ids)) {
        const done = envelope.state === 'complete' && envelope.location === undefined
        mustEqual(status, done ? 200 : 202, `status of a poll that finds ${envelope.state}`)
      }
    },
    'should',
  ),

  defineCase(
    'poll-address',
    "location.uri is an address that holds the caller's requestId",
    [80, 147],
    async (server) => {
      const { ids, uri } = await startCall(server, await server.part('async'))
      const { envelope } = await server.ask(uri, {}, ids)
      must(envelope.state !== 'error', `A poll of ${uri} returns the error ${envelope.error?.code}.`)
      should(uri.includes(ids.requestId), `${uri} does not include the requestId ${ids.requestId}.`)
    },
  ),

  defineCase(
    'expiry-announced',
    'accepted, pending and complete have the same expiresAt: ttlSeconds after the call',
    [90, 256, 271, 272],
    async (server) => {
      const part = await server.part('async')
      const { ttlSeconds } = part.entry
      if (typeof ttlSeconds !== 'number') throw new NotApplicable(`${part.op} has no ttlSeconds.`)
      const startedAt = Date.now() / 1000
      const { body, ids, uri } = await startCall(server, part)
      for (const answer of [body, ...(await pollToEnd(server, uri, ids)).map((polled) => polled.envelope)]) {
        const lasts = mustBeEpochSeconds(answer.expiresAt, `expiresAt with ${String(answer.state)}`) - startedAt
        must(
          Math.abs(lasts - ttlSeconds) < 60,
          `expiresAt with ${String(answer.state)} is ${lasts} s away, not ${ttlSeconds}.`,
        )
      }
    },
    'should',
  ),

  defineCase(
    'complete-is-final',
    'a complete call stays complete, with the same result',
    [292, 295],
    async (server) => {
      const { ids, uri } = await startCall(server, await server.part('async'))
      const ended = await awaitEnd(server, uri)
      for (let poll = 0; poll < 2; poll++) {
        const { envelope } = await server.ask(uri, {}, ids)
        mustEqual([envelope.state, envelope.result], [ended.body.state, ended.body.result], 'state and result')
      }
    },
  ),

  defineCase('an-instance-each', 'every invocation is a separate instance', [289], async (server) => {
    // The same request each time: the calls must differ although the arguments do not.
    const part = await server.part('async')
    const started = await Promise.all([1, 2, 3].map(() => startCall(server, part)))
    mustEqual(new Set(started.map(({ uri }) => uri)).size, 3, 'The number of poll URLs of three calls')
    for (const { uri, ids } of started) {
      const { body } = await awaitEnd(server, uri)
      mustEqual(body.requestId, ids.requestId, `requestId of the call at ${uri}`)
      if (body.location === undefined) mustFit(part, body.result)
    }
  }),

  defineCase(
    'not-ready-is-not-redirected',
    'a call that is not ready is 202, even if the caller prefers a redirect',
    [122],
    async (server) => {
      const started = await startCall(server, await server.part('async'), { headers: { prefer: 'redirect' } })
      mustEqual(started.headers.get('location'), null, `Location of a call that is ${String(started.body.state)}`)
    },
  ),

  defineCase(
    'models-as-declared',
    'each operation is executed as the registry declares',
    [93, 253, 268],
    async (server) => {
      const sync = await server.part('sync')
      mustEqual(sync.entry.executionModel, 'sync', `executionModel of ${sync.op}`)
      const { envelope } = await expectStatus(200, server.invoke(sync))
      must('result' in envelope, 'A sync call has no result.')
      if (server.target.operations?.async === undefined) return
      const part = await server.part('async')
      mustEqual(part.entry.executionModel, 'async', `executionModel of ${part.op}`)
      const started = await startCall(server, part)
      checkEnvelope(started, started.ids)
      must(started.body.location !== undefined, 'An async call has no location.')
    },
  ),

  defineCase(
    'nothing-there',
    'an unknown id is 404 with an envelope, on both addresses',
    [112, 131, 174],
    async (server) => {
      for (const path of ['', '/chunks']) {
        const answer = await expectStatus(404, server.send(`/ops/${randomUUID()}${path}`))
        mustEqual(checkEnvelope(answer).state, 'error', 'state')
      }
    },
  ),

  alone(
    defineCase(
      'polling-too-often',
      'a poll that comes too soon is 429 and says how long to wait; fetching chunks never is',
      [115, 136, 137, 152, 153],
      async (server) => {
        const part = await server.part(server.target.operations?.chunked === undefined ? 'async' : 'chunked')
        const { ids } = await startCall(server, part)
        const path = `/ops/${ids.requestId}`
        const polls = await Promise.all(Array.from({ length: POLLS }, () => server.send(path)))
        const refused = polls.filter(({ status }) => status === 429)
        if (refused.length === 0) throw new Skip(`The server accepted ${POLLS} concurrent polls, which is allowed.`)

        must(refused.length < polls.length, 'Every poll got 429, even the first.')
        for (const answer of refused) {
          const { retryAfterMs } = parseJson(answer)
          must(Number(retryAfterMs) > 0, 'A 429 does not say how long to wait in retryAfterMs.', { answer })
        }
        const fetched = await Promise.all(Array.from({ length: POLLS }, () => server.send(`${path}/chunks`)))
        mustEqual(fetched.filter(({ status }) => status === 429).length, 0, 'The number of chunk requests that got 429')
      },
    ),
  ),
]
