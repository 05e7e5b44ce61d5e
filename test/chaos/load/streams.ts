/** Readers of streams, over server-sent events and WebSocket. A reader that loses its connection resumes at any node. */
import { randomUUID } from 'node:crypto'
import { WebSocket } from 'ws'
import type { StreamBody } from '../../../src/protocols/opencall/wire.ts'
import { openSeal } from '../../../src/wire/frames/seal.ts'
import { EventDecoder } from '../../../src/wire/http/event-stream.ts'
import type { Reading } from '../history.ts'
import { CALLERS, type Subject, tokenOf } from './callers.ts'
import { isPassing, type Site } from './site.ts'

type Connection = Reading['connections'][number]
/** How a connection ended: with the stream, or before it; `missing` if the stream is not there (any more). */
type Ended = 'stream' | 'broken' | 'missing'

const SILENCE_MS = 15_000

export async function pursueStream(site: Site, over: Reading['over']): Promise<void> {
  const label = site.newLabel('stream')
  const caller = CALLERS[site.random(CALLERS.length)] as Subject
  const requestId = randomUUID()
  const args = { label, ms: 20 + site.random(60), fail: 'never' }
  const heard = await site.post(caller, '/call', { op: 'v1:Chaos.Feed', args, ctx: { requestId } })
  if (!heard || isPassing(heard)) return
  const stream = heard.body.stream as StreamBody | undefined
  if (!stream) return site.history.find(`${label} is no stream: ${heard.status} ${heard.body.error?.code}`)
  const reading: Reading = { label, requestId, caller, over, connections: [] }
  site.history.streams.push(reading)
  site.history.count(`stream over ${over}`)
  const path = new URL(stream.location).pathname
  const read = over === 'sse' ? readEvents : readSocket
  let ticket = stream.auth?.credential
  for (let missing = 0; !site.isOver && missing < 6; ) {
    const after = lastNumber(reading)
    const connection: Connection = { after, numbers: [], wrong: 0 }
    const ended = await read(site, reading, connection, { path, ...(ticket !== undefined && { ticket }) })
    if (connection.numbers.length > 0) ticket = undefined
    reading.connections.push(connection)
    if (ended === 'stream') break
    // At another node it is elsewhere; after the end it is gone. The call says which.
    if (ended === 'missing') missing += 1
    // A used ticket is refused. Its answer may have been lost.
    if (missing > 1) ticket = undefined
    await site.rest(200)
  }
  site.history.write('stream', reading)
}

function lastNumber({ connections }: Reading): number {
  return Math.max(0, ...connections.flatMap(({ numbers }) => numbers))
}

function take(connection: Connection, reading: Reading, number: number, data: string): void {
  connection.numbers.push(number)
  const { n, label } = JSON.parse(data) as { n: number; label: string }
  if (n !== number || label !== reading.label) connection.wrong += 1
}

interface Way {
  path: string
  ticket?: string
}

async function readEvents(site: Site, reading: Reading, connection: Connection, { path, ticket }: Way): Promise<Ended> {
  const query = ticket === undefined ? '' : `?ticket=${ticket}`
  const headers: Record<string, string> = { Accept: 'text/event-stream' }
  if (ticket === undefined) {
    headers.Authorization = `Bearer ${tokenOf(reading.caller)}`
    headers['Last-Event-ID'] = String(connection.after)
  }
  try {
    const signal = AbortSignal.timeout(SILENCE_MS * 2)
    const response = await fetch(`${site.urlOf(site.anyNode())}${path}${query}`, { headers, signal })
    if (!response.ok || !response.body) {
      await response.body?.cancel()
      return response.status === 503 ? 'broken' : 'missing'
    }
    const decoder = new EventDecoder({ maxLength: 100_000 })
    for await (const piece of response.body) {
      for (const { event, data, id } of decoder.push(piece)) {
        if (event === 'frame') take(connection, reading, Number(id), data)
        if (event !== 'end') continue
        const { state, error, result } = JSON.parse(data)
        reading.end = { state, code: error?.code, ...(result && { frames: result.frames }) }
        if (isOfStream(error?.code)) return 'stream'
        delete reading.end
        return 'broken'
      }
    }
  } catch {
    // The node is gone or silent.
  }
  return 'broken'
}

/** False if only the connection ended, and the stream goes on. */
function isOfStream(code: string | undefined): boolean {
  return code !== 'READER_REPLACED' && code !== 'PANIC_STREAM_CONNECTION_LOST'
}

function readSocket(site: Site, reading: Reading, connection: Connection, { path, ticket }: Way): Promise<Ended> {
  const query = ticket === undefined ? `?after=${connection.after}` : `?ticket=${ticket}`
  const headers = ticket === undefined ? { Authorization: `Bearer ${tokenOf(reading.caller)}` } : {}
  const url = site.urlOf(site.anyNode()).replace('http', 'ws')
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url}${path}${query}`, { headers })
    const silence = setTimeout(() => socket.terminate(), SILENCE_MS * 2)
    const end = (ended: Ended) => {
      clearTimeout(silence)
      resolve(ended)
    }
    socket.on('message', (bytes: Buffer) => {
      const { seq, payload } = openSeal(bytes)
      take(connection, reading, seq, Buffer.from(payload).toString())
    })
    socket.on('unexpected-response', (_request, response) => {
      response.resume()
      socket.terminate()
      end(response.statusCode === 503 ? 'broken' : 'missing')
    })
    socket.on('error', () => end('broken'))
    socket.on('close', (code, reason) => {
      const failure = String(reason).split(/[: ]/)[0]
      if (code !== 1000 && (code !== 4000 || !isOfStream(failure))) return end('broken')
      reading.end = code === 1000 ? { state: 'complete' } : { state: 'error', ...(failure && { code: failure }) }
      end('stream')
    })
  })
}
