/**
 * The port at which other nodes open links. It speaks TLS 1.3 with a shared secret (`keys.ts`), and reads nothing of a
 * connection before the other side has proven the secret and is found among the living nodes.
 */
import { createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Log } from '../../../core/ports/runtime.ts'
import type { LinkKey } from './keys.ts'

export interface ListenerParts {
  key: LinkKey
  isNode(name: string): Promise<boolean>
  accepted(name: string, socket: TLSSocket): void
  log: Log | undefined
}

/** With this suite, TLS 1.3 accepts a shared secret. The keys of a session are new for each one, by Diffie-Hellman. */
export const TLS = { ciphers: 'TLS_AES_128_GCM_SHA256', minVersion: 'TLSv1.3' } as const
const HANDSHAKE_MS = 5_000
/** Connections that are not let in yet. One more takes the place of the oldest: nodes need milliseconds. */
const MOST_WAITING = 64

export class Listener {
  readonly #parts: ListenerParts
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections that are not let in yet, by the other side's address. */
  readonly #waiting = new Map<string, Socket>()

  constructor(parts: ListenerParts) {
    this.#parts = parts
    const names = new WeakMap<object, string>()
    const secure = createTlsServer({
      ...TLS,
      handshakeTimeout: HANDSHAKE_MS,
      pskCallback(socket, name) {
        names.set(socket, name)
        return parts.key.secretFrom(name) ?? null
      },
    })
    secure.on('tlsClientError', (err) => parts.log?.debug({ err }, 'refused a connection at the port for nodes'))
    secure.on('secureConnection', (socket) => void this.#let(socket, names.get(socket)))
    this.#server = createTcpServer((socket) => {
      this.#wait(socket)
      secure.emit('connection', socket)
    })
  }

  /** Resolves with the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      // Workers of one server would share a port otherwise, and a link must reach one of them.
      this.#server.listen({ host, port, exclusive: true }, () => {
        this.#server.off('error', reject)
        this.#server.on('error', (err) => this.#parts.log?.warn({ err }, 'the port for other nodes has failed'))
        resolve((this.#server.address() as { port: number }).port)
      })
    })
  }

  /** Ends all connections. */
  close(): Promise<void> {
    if (!this.#server.listening) return Promise.resolve()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      for (const socket of this.#sockets) socket.destroy()
    })
  }

  #wait(socket: Socket): void {
    const address = addressOf(socket)
    const [oldest] = this.#waiting.values()
    if (oldest && this.#waiting.size >= MOST_WAITING) oldest.destroy()
    this.#sockets.add(socket)
    this.#waiting.set(address, socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      if (this.#waiting.get(address) === socket) this.#waiting.delete(address)
    })
  }

  async #let(socket: TLSSocket, name: string | undefined): Promise<void> {
    const { isNode, accepted, log } = this.#parts
    socket.on('error', (err) => log?.debug({ err }, 'a connection at the port for nodes broke'))
    try {
      if (name === undefined || !(await isNode(name))) throw new Error('It is not among the living nodes.')
    } catch (err) {
      log?.debug({ err }, 'refused a connection at the port for nodes')
      return void socket.destroy()
    }
    if (socket.destroyed) return
    this.#waiting.delete(addressOf(socket))
    accepted(name, socket)
  }
}

function addressOf({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`
}
