/** WebSockets to the server under test, with the client of Node. */
import { must } from '../assertions.ts'
import { NotApplicable, type Target } from '../case.ts'

/** Limit for one message, so that an unresponsive server does not block the suite. */
const PATIENCE_MS = 10_000
/** A server knows at once when a stream is unsubscribed. */
const END_PATIENCE_MS = 3_000

export type SocketMessage = string | Uint8Array

export class Socket {
  readonly #socket: WebSocket
  readonly #received: SocketMessage[] = []
  #closed = false
  #wake: () => void = () => {}

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('message', ({ data }) => {
      this.#received.push(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer))
      this.#wake()
    })
    const closed = () => {
      this.#closed = true
      this.#wake()
    }
    socket.addEventListener('close', closed)
    socket.addEventListener('error', closed)
  }

  send(message: string): void {
    this.#socket.send(message)
  }

  /** Returns the next message. `undefined` if the server closes the connection first. */
  async next(what: string): Promise<SocketMessage | undefined> {
    for (const end = Date.now() + PATIENCE_MS; ; ) {
      const message = this.#received.shift()
      if (message !== undefined || this.#closed) return message
      const leftMs = end - Date.now()
      must(leftMs > 0, `${what} did not come within ${PATIENCE_MS} ms.`)
      await this.#change(leftMs)
    }
  }

  /** Reads to the end of the connection. */
  async ended(what: string): Promise<void> {
    for (const end = Date.now() + END_PATIENCE_MS; ; ) {
      this.#received.length = 0
      if (this.#closed) return
      const leftMs = end - Date.now()
      must(leftMs > 0, `${what} did not come within ${END_PATIENCE_MS} ms.`)
      await this.#change(leftMs)
    }
  }

  async close(): Promise<void> {
    this.#socket.close()
    while (!this.#closed) await this.#change(PATIENCE_MS)
  }

  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** Returns `undefined` if the server refuses the connection. */
export async function connect(url: string, authorization: string | undefined): Promise<Socket | undefined> {
  const socket = new WebSocket(url, authorization === undefined ? {} : { headers: { authorization } })
  const ready = new Socket(socket)
  const opened = await new Promise<boolean>((resolve) => {
    socket.addEventListener('open', () => resolve(true))
    socket.addEventListener('error', () => resolve(false))
    socket.addEventListener('close', () => resolve(false))
    setTimeout(resolve, PATIENCE_MS, false).unref()
  })
  if (opened) return ready
  socket.close()
  return undefined
}

/** Connects to `/call`, and closes the connection after the check. */
export async function onSocket(target: Target, check: (socket: Socket) => Promise<void>): Promise<void> {
  const url = `${target.url.replace(/^http/, 'ws').replace(/\/+$/, '')}/call`
  const socket = await connect(url, target.token === undefined ? undefined : `Bearer ${target.token}`)
  if (!socket) throw new NotApplicable('The server accepts no WebSocket at /call.')
  try {
    await check(socket)
  } finally {
    await socket.close()
  }
}
