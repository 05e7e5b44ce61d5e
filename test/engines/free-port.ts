/** A free loopback port, for programs that cannot choose one themselves or that must keep it over a restart. */
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The port is below those that systems give to outgoing connections and to listeners on port 0. One of those could be
 * taken between this call and the start of the program, or while the program is down.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
