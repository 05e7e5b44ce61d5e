/** A proxy between a client and a server that cuts connections where a test says. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where a connection is cut: at once, after the request has gone on, or after so many bytes of the response. */
export type Cut = 'at once' | 'after the request' | number

/** The first connections are cut, one for each entry. All later ones pass. */
export async function startCuttingProxy(
  target: string,
  cuts: readonly Cut[],
): Promise<{ url: string; readonly left: number }> {
  const waiting = [...cuts]
  const { port, hostname } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const cut = waiting.shift()
    sockets.add(client.on('error', () => {}))
    if (cut === 'at once') return void client.destroy()
    const upstream = connect(Number(port), hostname)
    sockets.add(upstream.on('error', () => client.destroy()))
    client.pipe(upstream)
    let bytes = 0
    upstream.on('data', (piece) => {
      if (cut === 'after the request') return void client.destroy()
      if (cut === undefined) return void client.write(piece)
      client.write(piece.subarray(0, Math.max(0, cut - bytes)), () => bytes > cut && client.destroy())
      bytes += piece.length
    })
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port: own } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${own}`,
    get left() {
      return waiting.length
    },
  }
}
