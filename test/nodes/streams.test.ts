/** Streams of servers on one Postgres: a reader may reach any of them. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { jsonSchema, operation, type ServerOptions } from 'callplane'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openSocket } from '../carriers/websocket/client.ts'
import { callOver, SOURCE, serveProcess, temporaryFolder } from '../cli/processes.ts'
import { runCommand } from '../cli/streams.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { type Postgres, startPostgres } from '../engines/postgres.ts'
import { ask, WITH_TASKS } from '../scenarios/mcp.ts'
import { type Site, startSite } from '../scenarios/server.ts'
import { at, createFeed } from '../streams/feed.ts'
import { readEvents, readWithTicket, streamIn } from '../streams/sse.ts'

/** A stop request reaches the other server with the renewal of the lease, at the latest. */
const BRIEF = { work: { leaseMs: 2_000 } }

let schemas = 0

describeWith(postgresServer, 'streams of servers on one Postgres', () => {
  let database: Postgres

  beforeAll(async () => {
    database = await startPostgres()
  }, 60_000)
  afterAll(() => database[Symbol.asyncDispose]())

  type Started = Omit<ServerOptions, 'store'> & { peers?: { host?: string; advertise?: string } | false }

  /** Two servers with a schema of their own. */
  async function startTwo(options: Started, second: Partial<Started> = {}): Promise<[Site, Site]> {
    const schema = `streams_${++schemas}`
    // They share their keys.
    const data = await temporaryFolder()
    const start = ({ peers, ...rest }: Started) =>
      startSite({ data, ...rest, store: { url: database.url, schema, ...(peers !== undefined && { peers }) } })
    return [await start(options), await start({ ...options, ...second })]
  }

  test('a reader resumes at the other server with the frames that it missed, and unsubscribes there', async () => {
    const { feed, definition } = createFeed({ integrity: 'crc32' })
    const [here, there] = await startTwo({ operations: [definition], ...BRIEF })
    const subscribed = await here.call('v1:feed.watch', {}, { requestId: 'r1' })
    const { url } = streamIn(subscribed)
    const first = await readWithTicket(subscribed)
    feed.push('a', 'b', 'ü')
    expect([await first.next(), await first.next(), await first.next()]).toMatchObject([
      { id: 1 },
      { id: 2 },
      { id: 3 },
    ])

    const second = await readEvents(`${at(there, url)}?after=1`)
    const missed = [await second.next(), await second.next()]
    const replaced = await first.next()
    feed.push('d')
    const live = await second.next()
    const unsubscribed = await there.call('v1:unsubscribeFromStream', { requestId: 'r1' })

    expect(second.status).toBe(200)
    expect(missed).toEqual([
      { event: 'frame', id: 2, data: 'b' },
      { event: 'frame', id: 3, data: 'ü' },
    ])
    expect(replaced).toMatchObject({ event: 'end', data: { error: { code: 'READER_REPLACED' } } })
    expect(live).toEqual({ event: 'frame', id: 4, data: 'd' })
    expect(unsubscribed.body).toMatchObject({ state: 'complete' })
    expect(await second.rest()).toMatchObject([{ event: 'end', data: { state: 'complete' } }])
    // The last frames are kept for a reader that was away at the end.
    const late = await readEvents(`${at(there, url)}?after=3`)
    expect(await late.rest()).toMatchObject([{ id: 4, data: 'd' }, { event: 'end' }])
  })

  test('a WebSocket at the other server gets text and bytes as the handler sent them', async () => {
    const bytes = operation('v1:bytes.watch', {
      stream: { encodings: ['binary'] },
      frame: jsonSchema<Uint8Array>({}),
      async *run(_args, { signal }) {
        for (let n = 0; !signal.aborted; n = (n + 1) % 256) {
          yield new Uint8Array([n, 255 - n])
          await new Promise((resolve) => setImmediate(resolve))
        }
      },
    })
    const { feed, definition } = createFeed()
    const [here, there] = await startTwo({ operations: [definition, bytes], websocket: true })
    const texts = streamIn(await here.call('v1:feed.watch'))
    const binary = streamIn(await here.call('v1:bytes.watch'))
    // The readers with the tickets start the handlers here.
    for (const { url, ticket } of [texts, binary]) await readEvents(`${url}?ticket=${ticket}`)

    const [textReader, byteReader] = [await openSocket(at(there, texts.url)), await openSocket(at(there, binary.url))]
    feed.push('ü😀', { n: 1 })

    expect([await textReader.next(), await textReader.next()]).toEqual([{ text: '"ü😀"' }, { text: '{"n":1}' }])
    const got = (await byteReader.next()).bytes
    expect(got?.length).toBe(2)
    expect(255 - (got?.[0] ?? 0)).toBe(got?.[1])
  })

  test('a slow reader at the other server makes the handler wait, and then gets every frame', async () => {
    const { feed, definition } = createFeed()
    const [here, there] = await startTwo({ operations: [definition] })
    const subscribed = await here.call('v1:feed.watch')
    const { url } = streamIn(subscribed)
    await readWithTicket(subscribed)
    const slow = await openSlowly(at(there, url))
    const frames = 2_000

    feed.push(...Array.from({ length: frames }, (_, n) => `${n} ${'x'.repeat(32_000)}`))
    await settling(there, () => feed.left())
    const leftBehind = feed.left()
    const events = numbersIn(slow, frames)

    // Buffers of the connections hold some. Most of 64 MB wait in the handler.
    expect(leftBehind).toBeGreaterThan(frames / 2)
    expect(await events).toEqual(Array.from({ length: frames }, (_, n) => n))
    expect(feed.left()).toBe(0)
  })

  test('when the server that runs a stream is killed, its reader at the other one is told', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': COUNTING })
    const args = [`${folder}/operations.mjs`, '--store', database.url]
    const dying = await serveProcess([...args, '--data', `${folder}/data`])
    const other = await serveProcess([...args, '--data', `${folder}/data`])
    const { body } = await callOver(dying.url, 'v1:count')
    const { location, auth } = body.stream as { location: string; auth: { credential: string } }
    await readEvents(`${location.replace(/^ws/, 'http')}?ticket=${auth.credential}`)
    const reader = await readEvents(at(other, location.replace(/^ws/, 'http')))
    expect(await reader.next()).toMatchObject({ event: 'frame' })

    dying.kill('SIGKILL')
    const events = await reader.rest()

    expect(events.at(-1)).toMatchObject({ event: 'end', data: { error: { code: 'PANIC_STREAM_CONNECTION_LOST' } } })
    const { body: end } = await pollEnd(other.url, body.requestId)
    expect(end).toMatchObject({ state: 'error', error: { code: 'PANIC_STREAM_INTERRUPTED' } })
  }, 60_000)

  test('the command line follows a stream through a balancer that sends every connection to another server', async () => {
    const balancer = await createBalancer()
    const { feed, definition } = createFeed({ integrity: 'crc32' })
    const sites = await startTwo({ operations: [definition], publicUrl: balancer.url, ...BRIEF })
    balancer.targets = sites.map(({ url }) => Number(new URL(url).port))

    let printed = ''
    const onOutput = (text: string) => {
      printed += text
    }
    const shown = runCommand(['call', 'v1:feed.watch', '--follow', '--url', balancer.url], { onOutput })
    feed.push('one', 'two')
    await expect.poll(() => printed).toContain('two')
    const before = balancer.connections
    balancer.cut()
    feed.push('three')
    await expect.poll(() => feed.left()).toBe(0)
    const [stream] = await database.query<{ request_id: string }>(
      `SELECT request_id FROM streams_${schemas}.calls_1 WHERE operation LIKE 'v1:feed%'`,
    )
    await sites[0].call('v1:unsubscribeFromStream', { requestId: stream?.request_id })
    const { code, stdout } = await shown

    expect(balancer.connections).toBeGreaterThan(before)
    expect(stdout.trim().split('\n')).toEqual(['"one"', '"two"', '"three"'])
    expect(code).toBe(0)
  })

  test('an agent asks the other server for a stream that runs as its task', async () => {
    const ticks = operation('v1:clock.ticks', {
      frame: jsonSchema<number>({ type: 'integer' }),
      *run() {
        yield* [1, 2, 3]
      },
    })
    const [here, there] = await startTwo({ operations: [ticks] })

    const begun = await ask(here, 'tools/call', { name: 'clock_ticks', arguments: {} }, { capabilities: WITH_TASKS })
    const { taskId } = begun.json.result
    const seen = async () => (await ask(there, 'tasks/get', { taskId }, { capabilities: WITH_TASKS })).json.result

    await expect.poll(async () => (await seen()).status).toBe('completed')
    expect(JSON.stringify((await seen()).result)).toContain('[1,2,3]')
  })

  test('a stream that an agent began is read at the other server by another program of the same caller', async () => {
    const { feed, definition } = createFeed()
    const [here, there] = await startTwo({ operations: [definition] })
    const begun = await ask(here, 'tools/call', { name: 'feed_watch', arguments: {} }, { capabilities: WITH_TASKS })

    const { body } = await there.poll(begun.json.result.taskId)
    const reader = await readEvents(at(there, body.stream?.location.replace(/^ws/, 'http') ?? ''))
    feed.push('for the reader')

    expect(await reader.next()).toMatchObject({ data: 'for the reader' })
  })

  test('a hundred streams are read at the other server at once', async () => {
    const count = operation('v1:count', {
      args: jsonSchema<{ from: number }>({ type: 'object' }),
      frame: jsonSchema<number>({}),
      stream: { integrity: 'crc32' },
      async *run({ from }, { signal }) {
        for (let n = from; n < from + 50; n++) yield n
        await once(signal, 'abort')
      },
    })
    const [here, there] = await startTwo({ operations: [count] })
    const from = Array.from({ length: 100 }, (_, n) => n * 1_000)
    const streams = await Promise.all(from.map(async (n) => streamIn(await here.call('v1:count', { from: n }))))
    await Promise.all(streams.map(async ({ url, ticket }) => (await readEvents(`${url}?ticket=${ticket}`)).next()))

    const readers = await Promise.all(streams.map(({ url }) => readEvents(`${at(there, url)}?after=0`)))
    const frames = await Promise.all(
      readers.map(async (reader) => {
        const data = []
        while (data.length < 50) data.push((await reader.next())?.data)
        reader.leave()
        return data
      }),
    )

    expect(frames).toEqual(from.map((first) => Array.from({ length: 50 }, (_, n) => first + n)))
  })

  test('workers of one server forward to each other without the hub', async () => {
    const folder = await temporaryFolder({ 'operations.mjs': COUNTING })
    const args = [`${folder}/operations.mjs`, '--data', `${folder}/data`, '--workers', '2']
    await database.query('CREATE DATABASE workers')
    const store = database.url.replace(/postgres$/, 'workers')
    const { url } = await serveProcess([...args, '--store', store, '--node-address', '127.0.0.1:0'])
    const { body } = await callOver(url, 'v1:count')
    const { location, auth } = body.stream as { location: string; auth: { credential: string } }
    await readEvents(`${location.replace(/^ws/, 'http')}?ticket=${auth.credential}`)

    // Connections go to the workers in turns.
    for (let reads = 0; reads < 4; reads++) {
      const reader = await readEvents(location.replace(/^ws/, 'http'))
      expect(await reader.next()).toMatchObject({ event: 'frame' })
    }
  }, 60_000)

  test('without a link a reader at the other server is sent away, and the log says once what to open', async () => {
    const { definition } = createFeed()
    const lines: string[] = []
    const logTo = { write: (line: string) => lines.push(line) }
    // Nothing listens at the address that the first server names.
    const peers = { host: '127.0.0.1', advertise: '127.0.0.2' }
    const [here, there] = await startTwo({ operations: [definition], peers, log: 'warn', logTo })
    const subscribed = await here.call('v1:feed.watch')
    await readWithTicket(subscribed)

    const read = () => there.request(new URL(streamIn(subscribed).url).pathname, { headers: EVENTS })
    const answers = [await read(), await read()]

    for (const answer of answers) {
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ error: { code: 'PANIC_STREAM_ELSEWHERE' } })
    }
    const told = lines.filter((line) => line.includes('cannot connect to another node'))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/"address":"127\.0\.0\.2:\d+"/)
  })

  test('with peers: false a server opens no port, and its streams are read there only', async () => {
    const { definition } = createFeed()
    const [here, there] = await startTwo({ operations: [definition], peers: false })
    const subscribed = await here.call('v1:feed.watch')
    await readWithTicket(subscribed)

    const away = await there.request(new URL(streamIn(subscribed).url).pathname, { headers: EVENTS })

    expect(away.status).toBe(503)
    const about = await database.query<{ about: string }>(`SELECT about FROM streams_${schemas}.nodes`)
    expect(about).toHaveLength(2)
    for (const row of about) expect(JSON.parse(row.about)).not.toHaveProperty('address')
  })
})

const EVENTS = { Accept: 'text/event-stream' }

const COUNTING = `
import { operation, jsonSchema } from '${SOURCE}'
export const count = operation('v1:count', {
  frame: jsonSchema({}),
  async *run(_args, { signal }) {
    for (let n = 0; !signal.aborted; n++) {
      yield n
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  },
})
export const server = { work: { leaseMs: 2_000, claimEveryMs: 500 }, limits: { pollBurst: 1_000 } }
`

async function pollEnd(url: string, requestId: string) {
  for (;;) {
    const response = await fetch(`${url}/ops/${requestId}`, { headers: { Prefer: 'wait=10' } })
    const body = (await response.json()) as { state: string }
    if (body.state === 'complete' || body.state === 'error') return { body }
  }
}

/** Opens a stream of events, and reads nothing of it yet. */
async function openSlowly(url: string): Promise<IncomingMessage> {
  const request = get(url, { headers: EVENTS })
  onTestFinished(() => void request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** The numbers at the beginning of so many frames. */
async function numbersIn(response: IncomingMessage, frames: number): Promise<number[]> {
  const numbers: number[] = []
  let text = ''
  for await (const chunk of response) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, number] = /^data: ?"(\d+) /m.exec(block) ?? []
      if (number !== undefined) numbers.push(Number(number))
    }
    if (numbers.length === frames) break
  }
  return numbers
}

/** Waits until the value stays the same while the server answers many requests. */
async function settling(site: Site, read: () => number): Promise<void> {
  for (let same = 0, last = read(); same < 30; last = read()) {
    await site.request('/health')
    same = read() === last ? same + 1 : 0
  }
}

/** Sends every connection to the next server. */
async function createBalancer() {
  const sockets = new Set<Socket>()
  const balancer = { url: '', targets: [] as number[], connections: 0, cut }
  function cut() {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    const target = balancer.targets[balancer.connections++ % balancer.targets.length] as number
    const far = connect(target, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    cut()
    server.close()
  })
  balancer.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return balancer
}
