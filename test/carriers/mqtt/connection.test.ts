/** Acknowledgements leave after the responses before them, also after a reconnect. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { BrokerConnection } from '../../../src/carriers/mqtt/connection.ts'

/** Counts what reaches the network. */
function startStream() {
  const stream = new PassThrough({ writableHighWaterMark: 1_000 })
  return { stream, connection: new BrokerConnection(stream) }
}

test('acknowledgements leave at the end of the turn, after what was written in it', async () => {
  const { stream, connection } = startStream()
  connection.ready()

  connection.acknowledge(1)
  connection.acknowledge(258)
  stream.write('response')
  const before = stream.read()
  await new Promise(setImmediate)

  expect(before).toBeNull()
  expect(stream.read()).toEqual(Buffer.concat([Buffer.from('response'), Buffer.of(0x40, 2, 0, 1, 0x40, 2, 1, 2)]))
})

test('nothing is acknowledged while the client repeats what the broker has not confirmed', async () => {
  const { stream, connection } = startStream()

  connection.acknowledge(7)
  connection.gather()
  await new Promise(setImmediate)
  const before = stream.read()
  connection.ready()
  await new Promise(setImmediate)

  expect([before, stream.read()]).toEqual([null, Buffer.of(0x40, 2, 0, 7)])
})

test('nothing is written to a connection that has ended', async () => {
  const { stream, connection } = startStream()
  connection.ready()

  connection.acknowledge(7)
  stream.destroy()
  await new Promise(setImmediate)

  expect(stream.read()).toBeNull()
})
