/** A server restarts with other versions of its operations: calls started under the old versions are not lost. */
import { type OperationDefinition, operation } from 'callplane'
import { expect, test } from 'vitest'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'
import { verifies } from '../requirements.ts'
import { createStepClock, type Site, startSite, temporaryFolder } from './server.ts'

/** Begins and never ends by itself; the first run says so. */
function createEndless() {
  const began = Promise.withResolvers<void>()
  const run: OperationDefinition['run'] = (_args, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      began.resolve()
    })
  return { run, began: began.promise }
}

/** One call that runs and one that waits behind it, on a server that is then shut down. */
async function leaveTwo(data: string, version: string, name = 'v1:jobs.build'): Promise<void> {
  const { run, began } = createEndless()
  const build = operation(name, { version, model: 'async', concurrency: 1, run })
  const site = await startSite({ operations: [build], data })
  await site.call(name, { n: 1 }, { requestId: 'running', sessionId: 's1' })
  await site.call(name, { n: 2 }, { requestId: 'queued', sessionId: 's1' })
  await began
  await site.close()
}

test('a key that was used under 1.0.0 is known under 1.0.1, and not under v2', async () => {
  verifies('opencall:037')
  const data = temporaryFolder()
  let runs = 0
  const pay = (name: string, version: string) =>
    operation(name, { version, sideEffecting: true, run: () => `${name} ${version}, ${++runs}` })
  const send = (site: Site, name: string, requestId: string, args = { amount: 5 }) =>
    site.call(name, args, { requestId, idempotencyKey: 'k' })
  const before = await startSite({ operations: [pay('v1:till.pay', '1.0.0')], data })
  const first = await send(before, 'v1:till.pay', 'a')
  await before.close()

  const after = await startSite({
    operations: [pay('v1:till.pay', '1.0.1'), pay('v2:till.pay', '2.0.0')],
    data,
  })
  const again = await send(after, 'v1:till.pay', 'b')
  const other = await send(after, 'v1:till.pay', 'c', { amount: 6 })
  const newer = await send(after, 'v2:till.pay', 'd')

  expect(first.body.result).toBe('v1:till.pay 1.0.0, 1')
  expect(again.body).toEqual({ ...first.body, requestId: 'b' })
  expect(other).toMatchObject({ status: 400, body: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } })
  expect(newer.body.result).toBe('v2:till.pay 2.0.0, 2')
})

test('a request id that was used under 1.0.0 is the same call under 1.0.1', async () => {
  verifies('opencall:032')
  const data = temporaryFolder()
  let runs = 0
  const ask = (version: string) => operation('v1:jobs.ask', { version, model: 'async', run: () => ++runs })
  const before = await startSite({ operations: [ask('1.0.0')], data })
  await before.call('v1:jobs.ask', { n: 1 }, { requestId: 'a' })
  await before.ended('a')
  await before.close()

  const after = await startSite({ operations: [ask('1.0.1')], data })
  const same = await after.call('v1:jobs.ask', { n: 1 }, { requestId: 'a' })
  const other = await after.call('v1:jobs.ask', { n: 2 }, { requestId: 'a' })

  expect(same.body).toMatchObject({ requestId: 'a', state: 'complete', result: 1 })
  expect(other).toMatchObject({ status: 400, body: { error: { code: 'DUPLICATE_REQUEST_ID' } } })
  expect(runs).toBe(1)
})

test('calls that 1.0.0 had accepted are run by 1.0.1, if that is what there is', async () => {
  verifies('opencall:294')
  const data = temporaryFolder()
  await leaveTwo(data, '1.0.0')

  const build = operation('v1:jobs.build', { version: '1.0.1', model: 'async', run: ({ n }) => `1.0.1 built ${n}` })
  const site = await startSite({ operations: [build], data })

  for (const [requestId, n] of [
    ['running', 1],
    ['queued', 2],
  ]) {
    const { body } = await site.ended(String(requestId))
    expect(body).toMatchObject({ requestId, sessionId: 's1', state: 'complete', result: `1.0.1 built ${n}` })
  }
})

test('calls that 1.0.0 had accepted are run by 1.0.0, if it is still there', async () => {
  const data = temporaryFolder()
  await leaveTwo(data, '1.0.0')

  const build = (version: string) =>
    operation('v1:jobs.build', { version, model: 'async', run: ({ n }) => `${version} built ${n}` })
  const site = await startSite({ operations: [build('1.0.0'), build('1.0.1')], data })
  await site.call('v1:jobs.build', { n: 3 }, { requestId: 'new' })

  expect((await site.ended('running')).body.result).toBe('1.0.0 built 1')
  expect((await site.ended('queued')).body.result).toBe('1.0.0 built 2')
  expect((await site.ended('new')).body.result).toBe('1.0.1 built 3')
})

test('a call of v1 is never run by v2', async () => {
  verifies('opencall:015')
  const data = temporaryFolder()
  await leaveTwo(data, '1.0.0')
  let runs = 0
  const first = operation('v1:jobs.build', { version: '1.0.1', model: 'async', run: () => 'by v1' })
  const second = operation('v2:jobs.build', { version: '2.0.0', model: 'async', run: () => ++runs })

  const site = await startSite({ operations: [first, second], data })

  expect((await site.ended('running')).body.result).toBe('by v1')
  expect((await site.ended('queued')).body.result).toBe('by v1')
  expect(runs).toBe(0)
})

test('arguments that 1.0.0 took and 1.0.1 does not end the call with what is wrong with them', async () => {
  const data = temporaryFolder()
  await leaveTwo(data, '1.0.0')
  const args = { type: 'object', properties: { n: { type: 'string' } } } as const
  let runs = 0
  const build = operation('v1:jobs.build', { version: '1.0.1', model: 'async', args, run: () => ++runs })

  const site = await startSite({ operations: [build], data })

  for (const requestId of ['running', 'queued']) {
    const { body } = await site.ended(requestId)
    expect(body).toMatchObject({ state: 'error', error: { code: 'VALIDATION_ERROR' } })
    expect(JSON.stringify(body.error)).toContain('/n')
  }
  expect(runs).toBe(0)
})

test('an ended call can be polled, and its chunks and files fetched, even if its operation was changed or removed', async () => {
  verifies('opencall:151', 'opencall:155', 'opencall:178')
  const data = temporaryFolder()
  const rows = operation('v1:rows.export', { chunked: { mimeType: 'text/csv' }, run: () => ['a,b\n', '1,2\n'] })
  const draw = operation('v1:art.draw', {
    model: 'async',
    run: (_args, ctx) => ctx.object('a picture', { mimeType: 'text/plain' }),
  })
  const sum = operation('v1:sums.add', { model: 'async', run: () => 3 })
  const before = await startSite({ operations: [rows, draw, sum], data })
  for (const op of ['v1:rows.export', 'v1:art.draw', 'v1:sums.add']) {
    await before.call(op, {}, { requestId: op.slice(3) })
    await before.ended(op.slice(3))
  }
  const look = async (site: Site) => {
    const answers = await Promise.all(['rows.export', 'art.draw', 'sums.add'].map((id) => site.poll(id)))
    const picture = (answers[1]?.body.location?.uri ?? '').replace(/^https?:\/\/[^/]+/, '')
    return {
      answers: answers.map(({ status, body }) => [status, body.state, body.result, body.expiresAt]),
      chunk: await (await site.request('/ops/rows.export/chunks')).json(),
      picture: await (await site.request(picture)).text(),
    }
  }
  const seen = await look(before)
  await before.close()
  expect(seen).toMatchObject({ chunk: { data: 'a,b\n1,2\n', state: 'complete' }, picture: 'a picture' })

  const later: OperationDefinition[][] = [
    // Another version, and no longer chunked, a file or async.
    ['v1:rows.export', 'v1:art.draw', 'v1:sums.add'].map((name) =>
      operation(name, { version: '1.0.1', run: () => 'something else' }),
    ),
    // Nothing at all.
    [],
  ]
  for (const operations of later) {
    const after = await startSite({ operations, data })
    expect(await look(after)).toEqual(seen)
    await after.close()
  }
})

test('calls of an operation that is gone wait for it, with a warning, and can be canceled', async () => {
  verifies('opencall:294')
  const data = temporaryFolder()
  await leaveTwo(data, '1.0.0')
  const lines: LogLine[] = []

  const without = await startSite({ operations: [], data, log: createMemoryLog(lines) })
  const waiting = await without.poll('running')
  const canceled = await (await without.request('/ops/queued', { method: 'DELETE' })).json()
  await without.close()

  expect(waiting).toMatchObject({ status: 202, body: { requestId: 'running', sessionId: 's1' } })
  expect(lines).toContainEqual({
    level: 'warn',
    message: expect.stringContaining('wait for a server that has this operation'),
    fields: expect.objectContaining({ operation: 'v1:jobs.build@1.0.0', calls: 2 }),
  })
  expect(canceled).toMatchObject({ state: 'error', error: { code: 'CANCELED' } })

  const build = operation('v1:jobs.build', { version: '1.2.0', model: 'async', run: ({ n }) => `built ${n}` })
  const again = await startSite({ operations: [build], data })
  expect((await again.ended('running')).body.result).toBe('built 1')
  expect((await again.ended('queued')).body.error?.code).toBe('CANCELED')
})

test('calls of an operation that stays away end with their time', async () => {
  verifies('opencall:091')
  const clock = createStepClock()
  const data = temporaryFolder()
  const { run, began } = createEndless()
  const build = operation('v1:jobs.build', { model: 'async', ttlSeconds: 60, run })
  const before = await startSite({ operations: [build], data, clock })
  await before.call('v1:jobs.build', {}, { requestId: 'running' })
  await began
  await clock.passing(before.close(), 1)

  const without = await startSite({ operations: [], data, clock })
  const waiting = await without.poll('running')
  clock.advance(60_000)
  const gone = await without.poll('running')

  expect(waiting.status).toBe(202)
  expect(gone.status).toBe(404)
})
