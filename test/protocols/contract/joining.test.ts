/** The same request from several connections, and what a caller without permission learns about a tool. */
import { operation } from 'callplane'
import { expect, test } from 'vitest'
import { openHost, request } from './host.ts'
import { grpcPeer } from './peer.ts'

/** A tool that works until the test releases it, and reports that it has begun or was stopped. */
function slowTool() {
  const begun = Promise.withResolvers<void>()
  const done = Promise.withResolvers<object>()
  const stopped = Promise.withResolvers<string>()
  const slow = operation('v1:web.search', {
    sideEffecting: true,
    run: (_args, { signal }) => {
      begun.resolve()
      signal.addEventListener('abort', () => {
        stopped.resolve(signal.reason.kind)
        done.reject(signal.reason)
      })
      return done.promise
    },
  })
  return { slow, begun: begun.promise, finish: () => done.resolve({ found: 1 }), stopped: stopped.promise }
}

/** Resolves when this many requests wait for the same call. */
async function joined(arrivals: () => number, wanted: number): Promise<void> {
  while (arrivals() < wanted) await new Promise(setImmediate)
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}

test.each(['HTTP', 'gRPC'])('a connection that is lost does not take the work from who joined over %s', async (way) => {
  const { slow, begun, finish } = slowTool()
  let arrivals = 0
  const counting = { admit: () => void arrivals++ }
  const { execute, job, grpcPort } = await openHost({ operations: [slow], guards: [counting] })
  const asked = request('r1', 'web_search')
  const leaving = new AbortController()

  const first = execute(asked, { signal: leaving.signal }).catch((thrown) => thrown.name)
  await begun
  const before = arrivals
  const second =
    way === 'HTTP' ? execute(asked).then(({ body }) => body) : grpcPeer(`http://127.0.0.1:${grpcPort}`)(asked)
  await joined(() => arrivals, before + 1)
  leaving.abort()
  expect(await first).toBe('AbortError')
  // A round trip, after which the server has noticed as well.
  await job('none')
  await joined(() => 0, 0)
  finish()

  expect(await second).toMatchObject({ status: 'ok', output: { found: 1 } })
})

test('when the last of them leaves, the work is canceled', async () => {
  const { slow, begun, stopped } = slowTool()
  let arrivals = 0
  const counting = { admit: () => void arrivals++ }
  const { execute } = await openHost({ operations: [slow], guards: [counting] })
  const [one, two] = [new AbortController(), new AbortController()]

  const first = execute(request('r1', 'web_search'), { signal: one.signal }).catch((thrown) => thrown.name)
  await begun
  const before = arrivals
  const second = execute(request('r1', 'web_search'), { signal: two.signal }).catch((thrown) => thrown.name)
  await joined(() => arrivals, before + 1)
  one.abort()
  two.abort()

  expect(await Promise.all([first, second])).toEqual(['AbortError', 'AbortError'])
  expect(await stopped).toBe('canceled')
})

test('a caller without the scope learns neither how a tool runs nor the name of its secret', async () => {
  const pay = operation('v1:bank.pay', {
    scopes: ['pay'],
    backend: { kind: 'http' },
    auth: { profile: 'bearer', secretRef: 'bank-key' },
  })
  const { execute } = await openHost({
    operations: [pay],
    backend: { kind: 'http', usesAuth: true },
    tokens: { mallory: [] },
  })
  const guesses = [
    {},
    { runtime: { mode: 'wasm' } },
    { auth: { secret_ref: 'other' } },
    { auth: { secret_ref: 'bank-key' } },
  ]

  const answers: unknown[] = []
  for (const [at, guess] of guesses.entries()) {
    const init = { headers: { authorization: 'Bearer mallory' } }
    answers.push((await execute(request(`r${at}`, 'bank_pay', guess), init)).body.error)
  }

  expect(answers[0]).toMatchObject({ code: 'permission_denied' })
  expect(answers).toEqual(guesses.map(() => answers[0]))
})
