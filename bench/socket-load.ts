/** The process that makes calls over one WebSocket, a fixed number at a time. It checks every reply. */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { answerQuestions } from './ask.ts'
import { type Line, runWindow, type WindowResult } from './call-window.ts'
import { SOCKET_WIRES, type SocketWire, type SocketWireName } from './socket-wires.ts'

export interface SocketLoadOptions {
  port: number
  wire: SocketWireName
  inFlight: number
  durationMs: number
}

interface Connection {
  socket: WebSocket
  line: Line
  next: number
}

const open = new Map<number, Connection>()

answerQuestions({
  async run({ port, wire: name, inFlight, durationMs }: SocketLoadOptions): Promise<WindowResult> {
    const wire: SocketWire = SOCKET_WIRES[name]
    const connection = open.get(port) ?? (await connect(port, wire))
    open.set(port, connection)
    const { next, ...result } = await runWindow(connection.line, wire, { first: connection.next, inFlight, durationMs })
    connection.next = next
    return result
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
  const line: Line = { send: (text) => socket.send(text), receive: () => {} }
  socket.on('message', (data: Buffer) => line.receive(String(data)))
  return { socket, line, next: 0 }
}
