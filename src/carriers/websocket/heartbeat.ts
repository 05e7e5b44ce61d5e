/**
 * Pings all sockets at intervals, and ends those whose peer is gone, reads nothing, or does not finish a message. One timer
 * serves all sockets.
 */
import type { Socket } from 'node:net'
import { CLOSE, type ServerSocket } from './socket.ts'

export class Heartbeat {
  readonly #sockets = new Set<ServerSocket>()
  readonly #everyMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  add(socket: ServerSocket): void {
    this.#sockets.add(socket)
    this.#timer ??= setInterval(() => this.#beat(), this.#everyMs).unref()
  }

  remove(socket: ServerSocket): void {
    this.#sockets.delete(socket)
    if (this.#sockets.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #beat(): void {
    for (const socket of this.#sockets) {
      if (isGone(socket)) socket.terminate()
      else if (isTooSlow(socket)) socket.close(CLOSE.slow, 'A message did not arrive in time.')
      else if (!socket.writer?.isFull && socket.readyState === socket.OPEN) socket.ping()
    }
  }
}

/** A paused socket reads no pong: the server has paused it, so its peer is not to blame. */
function isGone(socket: ServerSocket): boolean {
  const { writer, raw, isPaused, isAlive, lastRead } = socket
  const read = ((raw as Socket | undefined)?.bytesWritten ?? 0) - (raw?.writableLength ?? 0)
  socket.isAlive = false
  socket.lastRead = read
  if (writer?.isFull) return read === lastRead
  return !isPaused && !isAlive
}

/** True if the message that had begun at the last ping has not arrived. A paused socket reads nothing. */
function isTooSlow(socket: ServerSocket): boolean {
  const { received, lastBegun, isPaused, isMidMessage } = socket
  socket.lastBegun = isMidMessage && !isPaused ? received : undefined
  return socket.lastBegun !== undefined && socket.lastBegun === lastBegun
}
