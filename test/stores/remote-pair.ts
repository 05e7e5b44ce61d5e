/** Both ends of a real connection to a store, in one process, so that a test can hold the store's clock. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Channel, createChannel, type StoreServer } from '../../src/stores/remote/index.ts'

export interface Connected {
  channel: Channel
  /** What the side of the store says once this one has gone. */
  left: Promise<boolean>
  end(): Promise<boolean>
}

export async function connectTo(server: StoreServer, path: string): Promise<Connected> {
  const listening = createServer().listen(path)
  await once(listening, 'listening')
  const accepted = once(listening, 'connection') as Promise<[Socket]>
  const socket = connect(path)
  const [other] = await accepted
  listening.close()
  const left = server.serve(createChannel(other))
  const channel = createChannel(socket)
  return {
    channel,
    left,
    end() {
      channel.close()
      return left
    },
  }
}
