/** "Asynchronous" execution, "Asynchronous Result Retrieval" and the state machine behind them. */
import { randomUUID } from 'node:crypto'
import { must, mustBeEpochSeconds, mustBeObject, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { expectStatus, type RequestInfo } from '../../http.ts'
import { defineCase } from '../define.ts'
import { lastOf, pollToEnd } from '../following.ts'
import type { Answered, Subject } from '../subject.ts'

interface Started extends Answered {
  sent: { requestId: string; sessionId: string }
  uri: string
}

async function startReport(server: Subject, steps: number, request: RequestInfo = {}): Promise<Started> {
  const { op } = await server.part('report')
  const sent = { requestId: randomUUID(), sessionId: randomUUID() }
  const answer = await expectStatus(202, server.call({ op, args: { month: '2026-02', steps }, ctx: sent }, request))
  return { ...answer, sent, uri: answer.envelope.location?.uri ?? '' }
}

const ORDER = ['accepted', 'pending', 'complete']

export const asyncCases = [
  defineCase(
    'async-accepted',
    'an async call is 202, accepted, and says where to poll, how often and until when',
    [51, 80, 88, 89, 96, 98, 105],
    async (server) => {
      const { envelope } = await startReport(server, 1)
      mustEqual(envelope.state, 'accepted', 'state')
      must(envelope.location !== undefined, 'There is no location to poll.')
      mustBeEpochSeconds(envelope.expiresAt, 'expiresAt')
    },
  ),

  defineCase(
    'async-to-the-end',
    'polling ends in complete with the result; every answer on the way is a whole envelope',
    [5, 52, 78, 97, 151, 290, 291],
    async (server) => {
      const { sent, uri } = await startReport(server, 5)
      const answers = await pollToEnd(server, uri, sent)
      const states = answers.map(({ envelope }) => envelope.state)

      must(states.includes('pending'), `A report of one second was never pending: ${states.join(', ')}.`)
      const ranks = states.map((state) => ORDER.indexOf(state))
      must(
        ranks.every((rank, at) => rank >= (ranks[at - 1] ?? 0)),
        `The state went back: ${states.join(', ')}.`,
      )
      const { envelope } = lastOf(answers)
      mustEqual(envelope.result, { month: '2026-02', rows: 500 }, 'result')
    },
  ),

  defineCase('poll-status', 'a poll is 202 until the result is there and 200 with it', [105, 150], async (server) => {
    const { sent } = await startReport(server, 2)
    for (const { status, envelope } of await pollToEnd(server, `/ops/${sent.requestId}`, sent)) {
      mustEqual(status, envelope.state === 'complete' ? 200 : 202, `status of a poll that finds ${envelope.state}`)
    }
  }),

  defineCase(
    'poll-address',
    "location.uri is an address that holds the caller's requestId",
    [80, 147],
    async (server) => {
      const { sent, uri } = await startReport(server, 1)
      must(uri.includes(sent.requestId), `${uri} does not include the requestId ${sent.requestId}.`)
      const { envelope } = await server.ask(uri, {}, sent)
      must(envelope.state !== 'error', `At ${uri} there is ${envelope.error?.code}.`)
    },
  ),

  defineCase(
    'expiry-announced',
    'accepted, pending and complete tell the same expiry: ttlSeconds from the call on',
    [90, 256, 271, 272],
    async (server) => {
      const { ttlSeconds } = await server.part('report')
      must(typeof ttlSeconds === 'number', 'ttlSeconds of an async operation is not a number.')
      const startedAt = Date.now() / 1000
      const { envelope, sent, uri } = await startReport(server, 5)
      for (const answer of [envelope, ...(await pollToEnd(server, uri, sent)).map((polled) => polled.envelope)]) {
        const lasts = mustBeEpochSeconds(answer.expiresAt, `expiresAt with ${answer.state}`) - startedAt
        must(Math.abs(lasts - ttlSeconds) < 60, `expiresAt with ${answer.state} is ${lasts} s away, not ${ttlSeconds}.`)
      }
    },
  ),

  defineCase(
    'complete-is-final',
    'what is complete stays complete, with the same result',
    [292, 295],
    async (server) => {
      const { sent, uri } = await startReport(server, 1)
      const ended = lastOf(await pollToEnd(server, uri, sent))
      const again = await expectStatus(200, server.ask(uri, {}, sent))
      const oncemore = await expectStatus(200, server.ask(uri, {}, sent))
      for (const { envelope } of [again, oncemore]) {
        mustEqual([envelope.state, envelope.result], ['complete', ended.envelope.result], 'state and result')
      }
    },
  ),

  defineCase('an-instance-each', 'every invocation is an instance of its own', [289], async (server) => {
    // The same words each time: what is told apart is the call, not what it asks for.
    const started = await Promise.all([1, 1, 2].map((steps) => startReport(server, steps)))
    mustEqual(new Set(started.map(({ uri }) => uri)).size, 3, 'The number of addresses that three calls are polled at')
    const results = await Promise.all(
      started.map(async ({ uri, sent }) => lastOf(await pollToEnd(server, uri, sent)).envelope.result),
    )
    mustEqual(
      results,
      [100, 100, 200].map((rows) => ({ month: '2026-02', rows })),
      'The results of the three calls',
    )

    const { op } = await server.part('note')
    const note = async () => {
      const ctx = { requestId: randomUUID(), idempotencyKey: randomUUID() }
      const { envelope } = await expectStatus(200, server.call({ op, args: { text: 'the same' }, ctx }))
      return mustBeObject(envelope.result, 'result').id
    }
    const [first, second] = [await note(), await note()]
    must(first !== second, 'Two notes of the same text are one.')
  }),

  defineCase(
    'not-ready-is-not-redirected',
    'what is not ready is 202, even if the caller prefers a redirect',
    [122],
    async (server) => {
      const { status, headers, envelope } = await startReport(server, 1, { headers: { prefer: 'redirect' } })
      mustEqual(
        [status, headers.get('location')],
        [202, null],
        `status and Location of a call that is ${envelope.state}`,
      )
    },
  ),

  defineCase(
    'models-as-declared',
    'each operation is executed as the registry declares',
    [93, 253, 268],
    async (server) => {
      const { op: sync, executionModel } = await server.part('add')
      const { executionModel: asynchronous } = await server.part('report')
      mustEqual([executionModel, asynchronous], ['sync', 'async'], 'executionModel of the two')
      const { envelope } = await expectStatus(200, server.call({ op: sync, args: { a: 1, b: 2 } }))
      must('result' in envelope, 'A sync call has no result.')
      const started = await startReport(server, 1)
      must(started.envelope.location !== undefined, 'An async call has no location.')
    },
  ),

  defineCase(
    'nothing-there',
    'an id that no call has is 404 with an envelope, on both addresses',
    [112, 131, 174],
    async (server) => {
      for (const path of ['', '/chunks']) {
        const { envelope } = await expectStatus(404, server.ask(`/ops/${randomUUID()}${path}`))
        mustEqual(envelope.state, 'error', 'state')
      }
    },
  ),

  defineCase(
    'polling-too-often',
    'a poll that comes too soon is 429 and says how long to wait; fetching chunks never is',
    [115, 136, 137, 152, 153],
    async (server) => {
      const { op } = await server.part('chunked')
      const { envelope } = await server.call({ op, args: { rows: 10 } })
      const path = `/ops/${envelope.requestId}`
      const polls = await Promise.all(Array.from({ length: 100 }, () => server.ask(path)))
      const refused = polls.filter(({ status }) => status === 429)
      if (refused.length === 0) throw new Skip('The server took a hundred polls at once, which it may.')

      must(refused.length < polls.length, 'Not even the first poll was answered.')
      for (const { envelope: refusal } of refused) {
        must(Number(refusal.retryAfterMs) > 0, 'A 429 does not say how long to wait in retryAfterMs.')
      }
      const fetched = await Promise.all(Array.from({ length: 100 }, () => server.send(`${path}/chunks`)))
      mustEqual(
        new Set(fetched.map(({ status }) => status)),
        new Set([200]),
        'The statuses of a hundred chunk requests',
      )
    },
  ),
]
