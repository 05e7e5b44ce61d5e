/** A proxy that breaks connections: it destroys the socket after so many bytes of a response's body. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface CuttingProxy {
  url: string
  /** Method and path of every request so far. */
  requests: string[]
}

/** `cut` returns the bytes after which the response breaks, or undefined for a whole one. */
export async function startCuttingProxy(
  target: string,
  cut: (request: string, count: number) => number | undefined,
): Promise<CuttingProxy> {
  const requests: string[] = []
  const proxy = createServer((incoming, outgoing) => {
    const name = `${incoming.method} ${incoming.url}`
    requests.push(name)
    const kind = name.replace(/[?].*$/, '').replace(/\/(ops|streams|objects)\/[^/]+/, '/$1/…')
    const count = requests.filter((one) => one.startsWith(kind.split('…')[0] ?? kind)).length
    forward(target, incoming, outgoing, cut(kind, count))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, requests }
}

function forward(target: string, incoming: IncomingMessage, outgoing: ServerResponse, cutAt: number | undefined): void {
  const upstream = request(
    target + incoming.url,
    { method: incoming.method, headers: incoming.headers },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      let left = cutAt ?? Number.POSITIVE_INFINITY
      response.on('data', (piece: Buffer) => {
        if (left <= 0) return
        const part = piece.subarray(0, left)
        left -= part.length
        outgoing.write(part, () => {
          if (left <= 0) outgoing.destroy()
        })
      })
      response.on('end', () => (left > 0 ? outgoing.end() : undefined))
      response.on('error', () => outgoing.destroy())
    },
  )
  upstream.on('error', () => outgoing.destroy())
  outgoing.on('close', () => upstream.destroy())
  incoming.pipe(upstream)
}
