/** Opens both ends of a real connection over a socket at this path, in one process. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export async function openSocketPair(path: string): Promise<readonly [here: Socket, there: Socket]> {
  const listening = createServer().listen(path)
  await once(listening, 'listening')
  const accepted = once(listening, 'connection') as Promise<[Socket]>
  const here = connect(path)
  const [there] = await accepted
  listening.close()
  return [here, there]
}
