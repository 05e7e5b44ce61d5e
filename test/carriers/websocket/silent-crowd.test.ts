/** Thousands of peers that upgrade and say nothing. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createStepClock, startSite } from '../../scenarios/server.ts'
import { openSocket } from './client.ts'
import { RawPeer } from './raw-peer.ts'
import { withTokens } from './tokens.ts'

vi.setConfig({ testTimeout: 60_000 })

const whoAmI = operation('v1:it.knows', { run: (_args, { caller }) => caller.subject })

test('peers without a credential have a quarter of the connections: HTTP and known peers are served', async () => {
  const { ann, auth } = withTokens()
  const { url, request } = await startSite({ operations: [whoAmI], auth, clock: createStepClock() })
  const silent: Socket[] = []
  onTestFinished(() => silent.forEach((socket) => void socket.destroy()))
  while (silent.length < 2_500) silent.push(...(await Promise.all(Array.from({ length: 100 }, () => upgrade(url)))))

  const { head } = await RawPeer.connect(Number(new URL(url).port), '/call')
  const known = await openSocket(`${url}/call`, { headers: { authorization: `Bearer ${ann}` } })
  known.call('v1:it.knows')

  expect([head, head.toLowerCase()]).toEqual([
    expect.stringMatching(/^HTTP\/1\.1 503 /),
    expect.stringContaining('retry-after: 1\r\n'),
  ])
  expect((await request('/.well-known/ops')).status).toBe(200)
  expect((await known.envelope()).result).toBe('ann')
})

/** A bare socket that is silent after its upgrade. */
async function upgrade(url: string): Promise<Socket> {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `GET /call HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n',
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toMatch(/^HTTP\/1\.1 101/)
  return socket
}
