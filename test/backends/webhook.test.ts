import { expect, test } from 'vitest'
import { createWebhookBackend } from '../../src/backends/webhook/index.ts'
import { Fault } from '../../src/core/fault.ts'
import type { JsonValue } from '../../src/core/json.ts'
import { Deferred } from '../../src/core/operation/returned.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { verifies } from '../requirements.ts'
import { backendContext, type ContextOptions, KEY, tokens } from './context.ts'
import { openTool, partsWith, type Respond, requestIn, responseTo } from './tool-server.ts'

const DONE = responseTo({ request_id: KEY, input: { done: true }, trace: { trace_id: '', span_id: '' } } as never)
const POLLING = { phase: 'polling', pollMs: 2_000 }
const SUBMITTING = { phase: 'submitting', pollMs: 2_000 }

async function open(respond: Respond, settings: object = {}) {
  const tool = await openTool(respond)
  const clock = createManualClock()
  const spec = { kind: 'webhook', endpoint: `${tool.url}/jobs?v=1`, allowPrivate: true, ...settings }
  const backend = createWebhookBackend(spec, partsWith(clock))
  return {
    tool,
    clock,
    backend,
    execute: async (options?: ContextOptions) => backend.execute({ n: 1 }, backendContext(options)),
    resume: async (waiting: JsonValue, options?: ContextOptions) =>
      backend.resume?.(waiting, { n: 1 }, backendContext(options)),
  }
}

const answering =
  (status: number, body = '', headers: Record<string, string> = {}): Respond =>
  (_asked, response) =>
    response.writeHead(status, headers).end(body)

test('the data for resuming the call is committed before the request is sent', async () => {
  verifies('contract:140', 'contract:141')
  const { tool, execute } = await open((asked, response) => response.end(responseTo(requestIn(asked))))
  const committed: unknown[] = []

  const result = await execute({
    remainingMs: 9_000,
    expectAnswer: async (waiting) => void committed.push(waiting, tool.asked.length),
  })

  expect(result).toEqual({ n: 1 })
  expect(committed).toEqual([SUBMITTING, 0])
  expect(tool.asked).toMatchObject([
    { method: 'POST', path: '/jobs?v=1', headers: { 'x-tool-contract-version': 'v1' } },
  ])
  expect(requestIn(tool.asked[0] as never)).toMatchObject({ request_id: KEY, runtime: { mode: 'webhook-callback' } })
})

test.each([
  ['at the usual pace', {}, {}, 2_000],
  ['at the pace that is declared', {}, { pollMs: 50 }, 50],
  ['when the tool says', { 'Retry-After': '7' }, {}, 7_000],
  ['not at once, even if the tool asks for it', { 'Retry-After': '0' }, {}, 100],
])('202 leaves the call waiting, to be asked for %s', async (_, headers, settings, resumeInMs) => {
  verifies('contract:142')
  const { execute } = await open(answering(202, '', headers), settings)

  const deferred = (await execute()) as Deferred

  expect(deferred).toBeInstanceOf(Deferred)
  expect(deferred).toMatchObject({ waiting: { phase: 'polling' }, resumeInMs })
})

test('a tool that wants to be left alone for years is asked within the hour', async () => {
  const { execute } = await open(answering(202, '', { 'Retry-After': '999999999' }))

  expect(await execute({ remainingMs: undefined })).toMatchObject({ resumeInMs: 3_600_000 })
})

test.each([201, 204, 302, 400, 409])('a %i response to the call is a permanent failure', async (status) => {
  const { execute } = await open(answering(status))

  await expect(execute()).rejects.toMatchObject({
    kind: 'upstream',
    retryable: false,
    details: { http_status: status },
  })
})

test('the question is for one path segment, and a final answer ends it', async () => {
  verifies('contract:142', 'contract:143')
  const { tool, resume } = await open(answering(200, DONE.replace(KEY, 'ns/agent ü')))

  expect(await resume(POLLING, { key: 'ns/agent ü' })).toEqual({ done: true })
  expect(tool.asked).toMatchObject([{ method: 'GET', path: '/jobs/ns%2Fagent%20%C3%BC?v=1', body: '' }])
})

test.each([
  ['202', answering(202)],
  ['204', answering(204)],
  ['429', answering(429, '', { 'Retry-After': '2' })],
  ['500', answering(500)],
  ['a broken connection', ((_asked, response) => response.destroy()) as Respond],
])('a question that is answered with %s is asked again', async (_, respond) => {
  const { resume } = await open(respond)

  expect(await resume(POLLING)).toMatchObject({ waiting: POLLING, resumeInMs: 2_000 })
})

test('the pace slows down to what is declared, and the last question comes when the time is over', async () => {
  verifies('contract:144')
  const { resume, tool } = await open(answering(202), { pollMs: 1_000, maxPollMs: 3_000 })
  let remainingMs = 10_000
  const pace: number[] = []

  let waiting: JsonValue = { phase: 'polling', pollMs: 1_000 }
  for (let round = 0; round < 4; round++) {
    const deferred = (await resume(waiting, { remainingMs })) as Deferred
    pace.push(deferred.resumeInMs)
    waiting = deferred.waiting
    remainingMs -= deferred.resumeInMs
  }

  expect(pace).toEqual([2_000, 3_000, 3_000, 2_000])
  await expect(resume(waiting, { remainingMs })).rejects.toMatchObject({ kind: 'timeout', retryable: true })
  expect(tool.asked.at(-1)).toMatchObject({ method: 'DELETE' })
})

test.each([400, 404, 410])('a question that is answered with %i is the end', async (status) => {
  const { tool, resume } = await open(answering(status))

  await expect(resume(POLLING)).rejects.toMatchObject({ kind: 'upstream', retryable: false })
  expect(tool.asked.map(({ method }) => method)).toEqual(['GET'])
})

test('a call that was cut off while it was handed over is asked for, and handed over again if the tool does not have it', async () => {
  const { tool, resume } = await open(({ method, body }, response) => {
    if (method === 'GET') response.writeHead(404).end()
    else response.end(responseTo(JSON.parse(body)))
  })

  expect(await resume(SUBMITTING)).toEqual({ n: 1 })
  expect(tool.asked.map(({ method }) => method)).toEqual(['GET', 'POST'])
})

test('a call that the tool has received is not sent a second time', async () => {
  const { tool, resume } = await open(answering(200, DONE))

  expect(await resume(SUBMITTING)).toEqual({ done: true })
  expect(tool.asked.map(({ method }) => method)).toEqual(['GET'])
})

test('an answer that was delivered counts, and nothing is asked', async () => {
  verifies('contract:145')
  const { tool, resume } = await open(answering(500))
  const failed = { request_id: KEY, status: 'error', error: { code: 'timeout', message: 'Late.', retryable: true } }

  expect(await resume(POLLING, { answer: JSON.parse(DONE) })).toEqual({ done: true })
  await expect(resume(POLLING, { answer: failed })).rejects.toMatchObject({ kind: 'timeout', message: 'Late.' })
  expect(tool.asked).toEqual([])
})

test('a polled answer to another request is refused', async () => {
  const { resume } = await open(answering(200, DONE.replace(KEY, 'another')))

  await expect(resume(POLLING)).rejects.toMatchObject({ code: 'BAD_ANSWER', retryable: false })
})

test.each([
  ['canceled', new Fault('canceled', 'The call was canceled.'), true],
  ['out of time', new Fault('timeout', 'Too late.'), true],
  ['taken over by another process', new Fault('unavailable', 'The server is shutting down.'), false],
])('a call that is %s is called off, or left alone', async (_, why, told) => {
  const { tool, execute } = await open(() => {})
  const stop = new AbortController()
  const { credential } = tokens('known')

  const running = execute({ signal: stop.signal, credential })
  await tool.begun
  stop.abort(why)

  await expect(running).rejects.toBe(why)
  const calledOff = tool.asked.filter(({ method }) => method === 'DELETE')
  expect(calledOff).toMatchObject(
    told ? [{ path: `/jobs/${KEY}?v=1`, headers: { authorization: 'Bearer known' } }] : [],
  )
})

test('a wait that is given up is called off, even if the tool does not listen', async () => {
  const { tool, backend } = await open(() => {})
  await backend.abandon?.(POLLING, backendContext(tokens('known')))
  expect(tool.asked).toMatchObject([{ method: 'DELETE', headers: { authorization: 'Bearer known' } }])

  await tool.close()
  await backend.abandon?.(POLLING, backendContext())
})

test('a poll without a response times out and is sent again', async () => {
  const { tool, clock, resume } = await open(() => {})

  const asking = resume(POLLING)
  await tool.begun
  clock.advance(30_000)

  expect(await asking).toBeInstanceOf(Deferred)
})
