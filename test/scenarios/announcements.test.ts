/** Signed announcements of pending approvals and ended calls, to a receiver that is sometimes unavailable. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { onlyOne, openDesk, PEOPLE } from './approving.ts'
import { createGate, createStepClock, temporaryFolder } from './server.ts'

const SECRET = 'a-secret-that-only-both-know'

interface Received {
  headers: IncomingHttpHeaders
  body: string
  json: Announcement
}

/** The fields that the tests read. An announcement has either `approval` or `call`. */
interface Announcement {
  id: string
  event: string
  approval?: { id: string }
  call?: { operation: string }
}

/** Answers with these statuses, one after the other, then with 204. */
async function startReceiver(statuses: number[] = []) {
  const received: Received[] = []
  let wake = () => {}
  const server = createServer(async (request, response) => {
    const body = await text(request)
    received.push({ headers: request.headers, body, json: JSON.parse(body) })
    response.writeHead(statuses.shift() ?? 204).end()
    wake()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    received,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async count(wanted: number): Promise<void> {
      while (received.length < wanted) await new Promise<void>((resolve) => (wake = resolve))
    },
  }
}

function announcing(url: string) {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'announce-key'), SECRET)
  return {
    announce: { url, secretRef: 'announce-key', allowPrivate: true },
    secrets: [{ kind: 'files' as const, folder }],
  }
}

test('a pending approval and the end of its call are announced, signed and without arguments or results', async () => {
  const receiver = await startReceiver()
  const desk = await openDesk(announcing(receiver.url))

  const { requestId } = (await desk.refund(512.25)).body
  await receiver.count(1)
  const { id } = await onlyOne(desk)
  await desk.decide(id)
  await receiver.count(2)

  const [pending, ended] = receiver.received as [Received, Received]
  expect(pending.json).toMatchObject({
    event: 'approval.pending',
    id: `approval.pending:${id}`,
    approval: { id, operation: 'v1:orders.refund@1.0.0', caller: 'callplane|agent', rule: 'policy#large-refunds' },
  })
  expect(ended.json).toMatchObject({
    event: 'call.ended',
    call: { requestId, operation: 'v1:orders.refund@1.0.0', outcome: 'complete', approvalId: id, attempts: 1 },
  })
  for (const { headers, body } of receiver.received) {
    const signed = `${headers['x-timestamp']}.${body}`
    expect(headers['x-signature']).toBe(`sha256=${createHmac('sha256', SECRET).update(signed).digest('hex')}`)
    expect(body).not.toContain('512.25')
  }
})

test('a failed delivery is sent again, and a permanently refused one is not', async () => {
  const receiver = await startReceiver([503, 429, 204, 400])
  const clock = createStepClock()
  const desk = await openDesk({ ...announcing(receiver.url), clock })

  await desk.refund(500)
  // In small steps: a delivery under way must not see its own time limit pass.
  await clock.passing(receiver.count(3), 1)
  await desk.refund(501)
  await clock.passing(receiver.count(4), 1)
  await desk.refund(502)
  await clock.passing(receiver.count(5), 1)

  const ids = receiver.received.map(({ json }) => json.id)
  expect(new Set(ids.slice(0, 3)).size).toBe(1)
  expect(new Set(ids.slice(2)).size).toBe(3)
})

test('a call that ends while the server closes is announced by the next server', async () => {
  const receiver = await startReceiver()
  const gate = createGate<string>()
  const slow = operation('v1:notes.keep', { model: 'async', run: () => gate.pass() })
  const options = { ...announcing(receiver.url), operations: [slow] }
  const first = await openDesk(options)
  const { requestId } = (await first.as('agent', 'v1:notes.keep')).body
  await gate.began

  const closing = first.close(10_000)
  gate.open('kept')
  await closing
  const unannounced = [...receiver.received]
  await openDesk({ ...options, data: first.data })
  await receiver.count(1)

  expect(unannounced).toEqual([])
  expect(receiver.received[0]?.json).toMatchObject({ event: 'call.ended', call: { requestId, outcome: 'complete' } })
})

test('notes that cannot be read do not keep the notes behind them from being announced', async () => {
  const receiver = await startReceiver()
  const first = await openDesk()
  await first.close()
  const store = createSqliteStore({ file: join(first.data, 'callplane.db'), clock: createStepClock() })
  const damaged = Array.from({ length: 100 }, (_, at) => ({ key: `announce/a${at}`, value: 'damaged' }))
  const whole = { key: 'announce/b', value: JSON.stringify({ event: 'call.ended', id: 'b' }) }
  for (const { key, value } of [...damaged, whole]) await store.records.put(key, value)
  await store.close()

  const lines: string[] = []
  const logTo = { write: (line: string) => void lines.push(line) }
  const second = await openDesk({ ...announcing(receiver.url), data: first.data, log: 'warn', logTo })
  await receiver.count(1)
  await second.close()

  expect(receiver.received.map(({ json }) => json.id)).toEqual(['b'])
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ refused }) => refused !== undefined)
  expect(warnings).toMatchObject([{ refused: 100 }])
})

test('an approval that was opened without announcements is announced once by the next server', async () => {
  const receiver = await startReceiver()
  const silent = await openDesk()
  await silent.refund(500)
  const { id } = await onlyOne(silent)
  await silent.close()

  const second = await openDesk({ ...announcing(receiver.url), data: silent.data })
  await receiver.count(1)
  await second.close(10_000)
  const third = await openDesk({ ...announcing(receiver.url), data: silent.data })
  await third.refund(501)
  await receiver.count(2)

  const [first, next] = receiver.received.map(({ json }) => json.approval?.id)
  expect([first, next === id]).toEqual([id, false])
})

test('only the events that were asked for, of recorded calls, and never the announcements or what administers', async () => {
  const receiver = await startReceiver()
  const { announce, ...rest } = announcing(receiver.url)
  const plain = operation('v1:notes.read', { run: () => 'unrecorded' })
  const kept = operation('v1:notes.keep', { model: 'async', run: () => 'recorded' })
  const desk = await openDesk({ ...rest, announce: { ...announce, events: ['call.ended'] }, operations: [plain, kept] })

  await desk.as('agent', 'v1:notes.read')
  await desk.as('boss', 'v1:callplane.approvals.list')
  await desk.as('agent', 'v1:notes.keep')
  await receiver.count(1)
  await desk.as('agent', 'v1:notes.keep')
  await receiver.count(2)

  expect(receiver.received.map(({ json }) => json.call?.operation)).toEqual(Array(2).fill('v1:notes.keep@1.0.0'))
})

test('only the server announces, and the receiver must have an allowed address', async () => {
  const receiver = await startReceiver()
  const { announce, ...rest } = announcing(receiver.url)
  const desk = await openDesk({ ...rest, announce: { ...announce, allowPrivate: false } })

  const forged = await desk.as('root', 'v1:callplane.announce', { body: {} }, { idempotencyKey: 'k' })
  await desk.refund(500)
  const failed = await expect.poll(async () => {
    const { body } = await desk.as('root', 'v1:callplane.audit.list', { operation: 'v1:callplane.announce@1.0.0' })
    return (body.result as { entries: { code: string }[] }).entries.map(({ code }) => code)
  })

  await failed.toEqual(['TARGET_REFUSED'])
  expect(forged.body.error?.code).toBe('SERVER_ONLY')
  expect(receiver.received).toEqual([])
})

test.each([
  [{ url: 'ftp://x', secretRef: 'a' }, /announce\.url must be/],
  [{ url: 'https://x.example', secretRef: '' }, /announce\.secretRef must be/],
  [{ url: 'https://x.example', secretRef: 'a', events: ['call.begun'] }, /"call.begun" is none of them/],
  [{ url: 'https://x.example', secretRef: 'a', secret: 's' }, /announce has no option "secret"/],
])('announce: %j is refused at the start', async (announce, message) => {
  await expect(openDesk({ announce: announce as never })).rejects.toThrow(message)
})

test('the agent learns nothing of announcements', async () => {
  const receiver = await startReceiver()
  const desk = await openDesk(announcing(receiver.url))

  const { body } = await desk.as('agent', 'v1:callplane.announce', { body: {} }, { idempotencyKey: 'k' })
  const listed = await (await desk.request('/.well-known/ops', { headers: PEOPLE.agent.headers })).text()

  expect(body.error?.code).toBe('UNKNOWN_OP')
  expect(listed).not.toContain('announce')
})
