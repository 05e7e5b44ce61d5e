/** The settings of the address at which other nodes reach a server. */
import { createServer } from 'callplane'
import { expect, test } from 'vitest'
import { parseServe } from '../../src/cli/serve/settings.ts'
import { forWorker } from '../../src/server/options/postgres.ts'

const url = 'postgres://callplane@127.0.0.1:5432/calls'
const settingsOf = (args: string[], own = {}) => parseServe({ args, env: {} }).over(own).store

test.each([
  [{ host: 'a b' }, 'store.peers.host'],
  [{ host: 7 as unknown as string }, 'store.peers.host'],
  [{ port: 65_536 }, 'store.peers.port'],
  [{ port: 1.5 }, 'store.peers.port'],
  [{ advertise: 'node-1:4749' }, 'store.peers.advertise'],
  [{ hots: 'x' } as object, 'no option "hots"'],
  [true as unknown as object, 'store.peers must be an object'],
])('peers %j is refused', async (peers, named) => {
  await expect(createServer({ operations: [], store: { url, peers } })).rejects.toThrow(named)
})

test('--node-address sets the host and the port, and keeps the other settings', () => {
  const own = { store: { url, schema: 'mine', peers: { advertise: 'node-1' } } }

  expect(settingsOf(['--store', url, '--node-address', '10.0.0.5:4749'])).toEqual({
    url,
    peers: { host: '10.0.0.5', port: 4749 },
  })
  expect(settingsOf(['--node-address', '[::1]:0'], own)).toEqual({
    url,
    schema: 'mine',
    peers: { host: '::1', port: 0, advertise: 'node-1' },
  })
  expect(settingsOf([], own)).toEqual(own.store)
  expect(settingsOf([], { store: url })).toEqual({ url })
})

test.each([
  [['--node-address', '10.0.0.5:4749'], '--node-address needs --store'],
  [['--store', url, '--node-address', '10.0.0.5'], '--node-address must be a host and a port'],
  [['--store', url, '--node-address', 'host:99999'], '--node-address'],
])('%j is refused', (args, named) => {
  expect(() => settingsOf(args)).toThrow(named)
})

test('each worker listens at a port of its own', () => {
  expect(forWorker({ url, peers: { port: 4749 } }, 3)).toEqual({ url, peers: { port: 4751 } })
  expect(forWorker({ url, peers: { host: '10.0.0.5' } }, 3)).toEqual({ url, peers: { host: '10.0.0.5' } })
  expect(forWorker({ url, peers: false }, 3)).toEqual({ url, peers: false })
})
