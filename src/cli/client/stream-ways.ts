/** How the commands read a stream: over the transport that the reply names, if it is a WebSocket or server-sent events. */
import { CallFault } from '../../client/fault.ts'
import { createSocketReader } from '../../client/streams/socket.ts'
import { overHttp, type StreamWays } from '../../client/streams/ways.ts'

/** In a header, not in the query: proxies log addresses, and every OpenCALL server reads the header. */
const readSocket = createSocketReader(
  (address, shown) =>
    new WebSocket(address, { headers: shown ? { Authorization: `${shown.scheme} ${shown.value}` } : {} }),
)
const read = overHttp(readSocket)

/** The arguments are those of the person, without a wish of the command. */
export const streamWays: StreamWays = async function* () {
  yield {
    wish: {},
    read(fetcher, reading) {
      const { transport } = reading.place
      if (transport !== 'wss' && transport !== 'sse') throw notHere(transport)
      return read(fetcher, reading)
    },
  }
}

function notHere(transport: string): CallFault {
  const message = `The frames of this stream are sent over ${transport}. To see them here, add "transport": ["wss", "sse"] to the arguments.`
  return new CallFault('STREAM_TRANSPORT', message)
}
