/** Both ends of a real connection to a store, in one process, so that a test can control the store's clock. */
import { type Channel, createChannel, type StoreServer } from '../../src/stores/hub/index.ts'
import { openSocketPair } from '../../src/testing/fakes/socket-pair.ts'

export interface Connected {
  channel: Channel
  /** Settles with the store side's result once this side has closed. */
  left: Promise<boolean>
  end(): Promise<boolean>
}

export async function connectTo(server: StoreServer, path: string): Promise<Connected> {
  const [socket, other] = await openSocketPair(path)
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
