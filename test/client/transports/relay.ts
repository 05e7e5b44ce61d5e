/** A relay in front of a server, whose connections a test can break. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

interface Watching {
  fromClient(data: Buffer): void
  fromServer(data: Buffer): void
}

export async function startRelay(port: number, watching?: Watching) {
  const open = new Set<Socket>()
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    if (watching) {
      client.on('data', watching.fromClient)
      server.on('data', watching.fromServer)
    }
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    relay.close()
  })
  return { port: (relay.address() as AddressInfo).port, cut }
}
