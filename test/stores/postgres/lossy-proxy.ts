/**
 * A proxy in front of Postgres that loses answers or keeps them back: the server has done its work, and the client does not
 * hear of it, or hears of it late.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Postgres } from '../../engines/postgres.ts'

export interface LossyProxy extends AsyncDisposable {
  readonly url: string
  /** The number of lost answers. */
  readonly lost: number
  /** From now on, every so many answers are lost. */
  loseEvery(count: number): void
  /** Keeps back the next answer that has this text, until `release`. `kept` resolves when it is there. */
  keepBack(text: string): { kept: Promise<void>; release(): void }
}

/** A connection answers this often until it is open: login, settings, and the question whether it is a standby. */
const GREETINGS = 3

export async function startLossyProxy(server: Postgres): Promise<LossyProxy> {
  const sockets = new Set<Socket>()
  let [every, answers, lost] = [Number.POSITIVE_INFINITY, 0, 0]
  let keeping: { text: string; keep(answer: () => void): void } | undefined
  const proxy = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1')
    let heard = 0
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => {
      if (keeping && bytes.includes(keeping.text)) {
        keeping.keep(() => client.write(bytes))
        keeping = undefined
        return
      }
      if (++heard <= GREETINGS || ++answers % every !== 0) return void client.write(bytes)
      lost++
      client.destroy()
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port } = proxy.address() as AddressInfo
  return {
    url: server.url.replace(`:${server.port}/`, `:${port}/`),
    get lost() {
      return lost
    },
    loseEvery(count) {
      every = count
    },
    keepBack(text) {
      const answer = Promise.withResolvers<() => void>()
      keeping = { text, keep: answer.resolve }
      return { kept: answer.promise.then(() => undefined), release: () => void answer.promise.then((send) => send()) }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
