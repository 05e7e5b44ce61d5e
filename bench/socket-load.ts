/** The process that makes calls over one WebSocket, a fixed number at a time. It checks every reply. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { answerQuestions } from './ask.ts'
import type { LoadResult } from './load.ts'
import { SOCKET_WIRES, type SocketWire, type SocketWireName } from './socket-wires.ts'

export interface SocketLoadOptions {
  port: number
  wire: SocketWireName
  inFlight: number
  durationMs: number
}

interface Connection {
  socket: WebSocket
  wire: SocketWire
  next: number
}

const open = new Map<number, Connection>()

answerQuestions({
  async run({ port, wire, inFlight, durationMs }: SocketLoadOptions): Promise<Omit<LoadResult, 'p50Ms' | 'p99Ms'>> {
    const connection = open.get(port) ?? (await connect(port, SOCKET_WIRES[wire]))
    open.set(port, connection)
    return run(connection, inFlight, durationMs)
  },
  stop() {
    for (const { socket } of open.values()) socket.terminate()
  },
})

async function connect(port: number, wire: SocketWire): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${wire.path}`, { perMessageDeflate: false })
  const greeted = wire.greeting === undefined ? undefined : once(socket, 'message')
  await once(socket, 'open')
  if (wire.greeting !== undefined) {
    await greeted
    socket.send(wire.greeting)
    await once(socket, 'message')
  }
  const { alive } = wire
  if (alive) socket.on('message', (data: Buffer) => String(data) === alive.asks && socket.send(alive.reply))
  return { socket, wire, next: 0 }
}

function run(connection: Connection, inFlight: number, durationMs: number) {
  const { socket, wire } = connection
  if (socket.readyState !== WebSocket.OPEN) throw new Error('The server has closed the socket.')
  const done = Promise.withResolvers<Omit<LoadResult, 'p50Ms' | 'p99Ms'>>()
  const startedAt = performance.now()
  const first = connection.next
  const result = { calls: 0, wrong: 0, firstWrong: '', elapsedMs: 0 }
  let waiting = 0
  const call = () => {
    waiting++
    socket.send(wire.encode(connection.next++))
  }
  const receive = (data: Buffer) => {
    const text = String(data)
    const reply = wire.decode(text)
    if (!reply) return
    if (reply.n >= first && reply.n < connection.next && reply.sum === reply.n + 1) result.calls++
    else {
      result.wrong++
      result.firstWrong ||= text
    }
    waiting--
    if (performance.now() - startedAt < durationMs) call()
    else if (waiting === 0) {
      socket.off('message', receive).off('close', fail)
      result.elapsedMs = performance.now() - startedAt
      done.resolve(result)
    }
  }
  const fail = (code: number) => done.reject(new Error(`The server has closed the socket with ${code}.`))
  socket.on('message', receive).on('close', fail)
  for (let n = 0; n < inFlight; n++) call()
  return done.promise
}
