/** Opens a connection to another node. Only the node with the private key of the given name can answer it. */
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { LinkKey } from './keys.ts'
import { TLS } from './listener.ts'
import type { Neighbour } from './neighbours.ts'

export async function dial(key: LinkKey, { name, host, port }: Neighbour, limitMs: number): Promise<TLSSocket> {
  const psk = key.secretTo(name)
  if (!psk) throw new Error('The key of the node is not valid.')
  const socket = connect({
    ...TLS,
    host,
    port,
    pskCallback: () => ({ identity: key.name, psk }),
    // A server that shows a certificate does not know the secret. No certificate is trusted.
    ca: [],
    checkServerIdentity: () => new Error('The server shows a certificate instead of the secret.'),
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(limitMs) })
    return socket
  } catch (thrown) {
    socket.on('error', () => {})
    socket.destroy()
    throw thrown
  }
}
