/** The transports of the client that need no broker. */
import { createClient } from 'callplane/client'
import { webSocketTransport } from 'callplane/client/websocket'
import { startSite } from '../../scenarios/server.ts'
import type { Operations } from './operations.ts'
import { startRelay } from './relay.ts'
import { describeTransport } from './suite.ts'

async function startBehindRelay(operations: Operations) {
  const { url } = await startSite({ operations: [...operations] })
  const { port, cut } = await startRelay(Number(new URL(url).port))
  return { url: `http://127.0.0.1:${port}`, interrupt: async () => cut() }
}

describeTransport('over HTTP', async (operations) => {
  const { url, interrupt } = await startBehindRelay(operations)
  return { interrupt, createClient: () => createClient<Operations>({ url }) }
})

describeTransport('over WebSocket', async (operations) => {
  const { url, interrupt } = await startBehindRelay(operations)
  return { interrupt, createClient: () => createClient<Operations>({ transport: webSocketTransport({ url }) }) }
})

describeTransport(
  'in the process of the server',
  async (operations) => {
    const { server } = await startSite({ operations: [...operations] })
    return { createClient: () => server.client<Operations>({ subject: 'ada', scopes: ['*'] }) }
  },
  false,
)
