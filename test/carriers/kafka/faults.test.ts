/** Kafka, our server or its group changes in the middle of calls: nothing is lost, and nothing runs twice to an end. */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Admin, Consumer } from '@platformatic/kafka'
import { jsonSchema, operation } from 'callplane'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { serveProcess } from '../../cli/processes.ts'
import { describeWith, kafkaBroker, pythonClients, together } from '../../engines/engines.ts'
import { type Kafka, startKafka } from '../../engines/kafka.ts'
import { createGate, startSite, temporaryFolder } from '../../scenarios/server.ts'
import { startPair } from '../../workers/pair.ts'
import { envelopeIn, PEER_TOKEN, type Peer, startPeer } from './peer.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 })

const TOPICS = ['callplane.ops', 'callplane.replies', 'callplane.frames']
const REPLIES = ['callplane.replies']
const auth = { tokens: [PEER_TOKEN] }
const args = jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'integer' } } })

/** Several operations, because the key of a message is its operation, and the key decides on the partition. */
function ledgers(run: (n: number, requestId: string) => void) {
  return Array.from({ length: 8 }, (_, index) =>
    operation(`v1:ledger.write${index}`, {
      args,
      model: 'async',
      async run({ n }, { requestId }) {
        await new Promise(setImmediate)
        run(n, requestId)
        return n
      },
    }),
  )
}

/** Without request ids, so that each delivery of a message must lead to the same one. */
function write(peer: Peer, n: number): Promise<void> {
  return peer.call(`v1:ledger.write${n % 8}`, { n }, {}, { headers: { 'correlation-id': `n${n}` } })
}

/** Counts the numbers whose call is complete, as far as the peer knows. Each message is looked at once. */
function watchCompleted(peer: Peer): () => Set<number> {
  const ended = new Set<number>()
  let seen = 0
  return () => {
    for (; seen < peer.received.length; seen++) {
      const envelope = envelopeIn(peer.received[seen]?.value as Buffer)
      if (envelope?.state === 'complete' && typeof envelope.result === 'number') ended.add(envelope.result)
    }
    return ended
  }
}

/** How many messages of the operations topic the group has not committed. */
async function lagOf({ address }: Kafka, group: string): Promise<bigint> {
  const consumer = new Consumer({ clientId: 'test', bootstrapBrokers: [address], groupId: group })
  try {
    const [topic] = TOPICS as [string]
    const committed = await consumer.listCommittedOffsets({ topics: [{ topic, partitions: [0, 1, 2, 3] }] })
    const ends = await consumer.listOffsets({ topics: [topic] })
    const sum = (offsets: readonly bigint[] = []) =>
      offsets.reduce((total, offset) => total + (offset < 0n ? 0n : offset), 0n)
    return sum(ends.get(topic)) - sum(committed.get(topic))
  } finally {
    await consumer.close(true)
  }
}

describeWith(together(kafkaBroker, pythonClients), 'Kafka and its faults', () => {
  let kafka: Kafka
  beforeAll(async () => {
    kafka = await startKafka({ autoCreateTopics: false })
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [kafka.address] })
    await admin.createTopics({ topics: TOPICS, partitions: 4, replicas: 1 })
    await admin.close()
  })
  afterAll(() => kafka[Symbol.asyncDispose]())
  const options = (group: string, more: object = {}) => ({ brokers: [kafka.address], group, ...more })

  test('two nodes share a group, and a rebalance loses and doubles nothing', async () => {
    const runs: number[] = []
    const [first, second] = await startPair({ operations: ledgers((n) => runs.push(n)), auth, kafka: options('pair') })
    await using peer = await startPeer(kafka.address, REPLIES)
    const completed = watchCompleted(peer)

    await Promise.all(Array.from({ length: 200 }, (_, n) => write(peer, n)))
    const sending = Promise.all(Array.from({ length: 200 }, (_, n) => write(peer, 200 + n)))
    await peer.until(() => completed().size > 50)
    await first.server.close(20_000)
    await sending
    await peer.until(() => completed().size === 400)

    expect(runs.sort((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, n) => n))
    expect((await second.request('/ready')).status).toBe(200)
  })

  test('calls go on after the broker was killed, and /ready tells meanwhile', async () => {
    const runs: number[] = []
    const operations = ledgers((n) => runs.push(n))
    const site = await startSite({
      operations,
      auth,
      kafka: options('broken'),
    })
    await using peer = await startPeer(kafka.address, REPLIES)
    const completed = watchCompleted(peer)
    const state = async () => ((await (await site.request('/ready')).json()) as { carriers: unknown }).carriers

    const before = Array.from({ length: 100 }, (_, n) => write(peer, 1_000 + n))
    await peer.until(() => completed().has(1_010))
    await kafka.kill()
    await expect.poll(state, { timeout: 30_000 }).toMatchObject({ kafka: { connected: false } })
    await kafka.restart()
    await Promise.all(before)
    await Promise.all(Array.from({ length: 100 }, (_, n) => write(peer, 1_100 + n)))
    await peer.until(() => Array.from({ length: 200 }, (_, n) => 1_000 + n).every((n) => completed().has(n)))

    expect(await state()).toEqual({ kafka: { connected: true } })
    const mine = runs.filter((n) => n >= 1_000)
    expect(mine.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => 1_000 + n))
  })

  test('a server that is killed again and again makes one call of each message, and each caller gets its end', async () => {
    const folder = temporaryFolder()
    const ledger = join(folder, 'ledger')
    appendFileSync(ledger, '')
    const serve = () =>
      serveProcess(
        [join(import.meta.dirname, 'ledger-operations.ts'), '--data', join(folder, 'data'), '--kafka', kafka.address],
        { env: { LEDGER: ledger } },
      )
    await using peer = await startPeer(kafka.address, REPLIES)
    const completed = watchCompleted(peer)
    const requestIds = () => {
      const byNumber = new Map<number, Set<string>>()
      for (const line of readFileSync(ledger, 'utf8').split('\n').slice(0, -1)) {
        const [n, requestId] = line.split(' ')
        // The topic also has the messages of the other tests.
        if (Number(n) < 2_000) continue
        const ids = byNumber.get(Number(n)) ?? new Set()
        byNumber.set(Number(n), ids.add(String(requestId)))
      }
      return byNumber
    }

    for (let round = 0; round < 3; round++) {
      const server = await serve()
      await Promise.all(Array.from({ length: 50 }, (_, n) => write(peer, 2_000 + round * 50 + n)))
      await expect.poll(() => requestIds().size, { timeout: 30_000 }).toBeGreaterThan(round * 50 + 5)
      // Kafka does not deliver these messages again, and their calls have not ended.
      if (round > 0) await expect.poll(() => lagOf(kafka, 'killed'), { timeout: 30_000 }).toBe(0n)
      server.kill('SIGKILL')
      await server.ended
    }
    await serve()
    await expect.poll(() => requestIds().size, { timeout: 60_000 }).toBe(150)

    expect([...requestIds().values()].every((ids) => ids.size === 1)).toBe(true)
    // A caller who has only Kafka learns every end, however its server ended.
    await peer.until(() => [...completed()].filter((n) => n >= 2_000).length === 150)
  })

  test('a message is committed when its reply is published: another server replies if the first one could not', async () => {
    const gate = createGate()
    const ask = operation('v1:it.answers', { run: () => gate.pass() })
    const start = () => startSite({ operations: [ask], auth, kafka: options('unheard') })
    const first = await start()
    {
      await using peer = await startPeer(kafka.address, REPLIES)
      await peer.call('v1:it.answers', {}, { requestId: 'unheard' })
      await gate.began
    }
    await kafka.kill()
    gate.open('said')
    await first.close(500)
    await kafka.restart()
    await using peer = await startPeer(kafka.address, REPLIES)
    await start()

    expect(await peer.reply('unheard', 'complete')).toMatchObject({ requestId: 'unheard', result: 'said' })
  })

  test('a server starts without a broker, and connects when there is one', async () => {
    await kafka.stop()
    const site = await startSite({ operations: ledgers(() => {}), auth, kafka: options('early') })
    const state = async () => ((await (await site.request('/ready')).json()) as { carriers: unknown }).carriers
    expect(await state()).toMatchObject({ kafka: { connected: false } })
    await kafka.restart()
    await expect.poll(state, { timeout: 60_000 }).toEqual({ kafka: { connected: true } })
  })

  test('a server closes although the broker is away', async () => {
    const site = await startSite({ operations: ledgers(() => {}), auth, kafka: options('late') })
    await kafka.kill()
    await site.close()
    await kafka.restart()
  })

  test('a missing topic is a clear error at the start, and is created if the option says so', async () => {
    const start = (more: object) =>
      startSite({
        operations: ledgers(() => {}),
        auth,
        kafka: options('new', { topics: { replies: 'new.replies' }, ...more }),
      })

    await expect(start({})).rejects.toMatchObject({
      code: 'TOPIC_MISSING',
      message: 'Kafka has no topic "new.replies". Create it, or set kafka.createTopics.',
    })
    await start({ createTopics: true })
    await start({})
  })
})
