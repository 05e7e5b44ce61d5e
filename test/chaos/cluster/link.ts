/**
 * A way through the network that can be cut, delayed and silenced, and that can lose answers: the server has done its
 * work, and the connection ends before the client hears of it.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Link extends AsyncDisposable {
  readonly port: number
  /** Ends all connections. */
  cut(): void
  /** Everything arrives this much later. 0: at once. */
  delay(ms: number): void
  /** While true, nothing arrives, and nothing is refused. */
  silence(silent: boolean): void
  /** While true, requests arrive, and answers do not. At the end the connections that lost one are cut. */
  loseAnswers(lose: boolean): void
}

/** `target` is the port to connect to. Without one, connections are refused. */
export async function openLink(target: () => number | undefined): Promise<Link> {
  const sockets = new Set<Socket>()
  const robbed = new Set<Socket>()
  const pumps = new Set<() => void>()
  let [delayMs, silent, losing] = [0, false, false]

  const forward = (from: Socket, to: Socket, isAnswer: boolean) => {
    // In a queue: pieces with timers of their own could overtake each other.
    const waiting: { bytes: Buffer; dueMs: number }[] = []
    let timer: NodeJS.Timeout | undefined
    const pump = () => {
      clearTimeout(timer)
      while (!silent && waiting[0] && waiting[0].dueMs <= performance.now()) {
        const [piece] = waiting.splice(0, 1)
        if (piece && !to.destroyed) to.write(piece.bytes)
      }
      if (!silent && waiting[0]) timer = setTimeout(pump, waiting[0].dueMs - performance.now())
    }
    pumps.add(pump)
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('close', () => {
      clearTimeout(timer)
      pumps.delete(pump)
      sockets.delete(from)
      robbed.delete(from)
      to.destroy()
    })
    from.on('data', (bytes) => {
      if (isAnswer && losing) return void robbed.add(to)
      waiting.push({ bytes, dueMs: performance.now() + delayMs })
      pump()
    })
  }
  const server = createServer((client) => {
    const port = target()
    if (port === undefined) return void client.destroy()
    const upstream = connect(port, '127.0.0.1')
    forward(client, upstream, false)
    forward(upstream, client, true)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    delay(ms) {
      delayMs = ms
    },
    silence(now) {
      silent = now
      for (const pump of pumps) pump()
    },
    loseAnswers(lose) {
      losing = lose
      if (!lose) for (const socket of robbed) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
