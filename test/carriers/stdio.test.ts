/** Lines on a pair of streams: split, several at once, too long, and at the end of the stream. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createLineCarrier } from '../../src/carriers/stdio/index.ts'
import type { Connection, Session } from '../../src/core/ports/session.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'

function connect(session: Partial<Session> = {}, maxBytes = 100) {
  const input = new PassThrough()
  const output = new PassThrough()
  const received: string[] = []
  const log: LogLine[] = []
  const leaving = new AbortController()
  let connection: Connection | undefined
  const open = (given: Connection): Session => {
    connection = given
    return {
      receive: (line) => {
        received.push(String(line))
        return given.send(String(line).toUpperCase())
      },
      refuse: ({ code }) => void received.push(code),
      finish: async () => {},
      close: async () => {},
      ...session,
    }
  }
  const carrier = createLineCarrier(open, {
    input,
    output,
    peer: { header: (name) => (name === 'authorization' ? 'Bearer t' : undefined) },
    origin: 'http://a.example',
    limits: { maxBytes },
    log: createMemoryLog(log),
    signal: leaving.signal,
    flushMs: 1,
  })
  void carrier.listen()
  return { input, output, received, leaving, served: carrier.ended, carrier, log, connection: () => connection }
}

test('many messages to a peer that does not read share one listener, and all arrive when it reads', async () => {
  const { input, output, connection, served } = connect()
  await expect.poll(connection).toBeDefined()
  const long = 'x'.repeat(output.writableHighWaterMark)

  const sending = Array.from({ length: 20 }, () => connection()?.send(long))
  const listeners = [output.listenerCount('drain'), output.listenerCount('close')]
  let read = 0
  output.on('data', (chunk: Buffer) => {
    read += chunk.length
  })
  await Promise.all(sending)
  input.end()
  await served

  // The carrier itself listens for the close as well.
  expect(listeners).toEqual([1, 2])
  expect(read).toBe(20 * (long.length + 1))
})

test('a line may come in pieces, several may come at once, and a character may be cut in two', async () => {
  const { input, output, received, served } = connect()
  const bytes = Buffer.from('grüße\n')
  input.write('on')
  input.write('e\ntwo\r\n\nth')
  input.write('ree\n')
  input.write(bytes.subarray(0, 3))
  input.end(bytes.subarray(3))
  await served
  expect(received).toEqual(['one', 'two', 'three', 'grüße'])
  expect(output.read().toString()).toBe('ONE\nTWO\nTHREE\nGRÜSSE\n')
})

test('a line that is too long is discarded as it comes, counted in bytes, and the next one is taken', async () => {
  const { input, received, served } = connect()
  for (let at = 0; at < 50; at++) input.write('x'.repeat(10))
  input.write(`\n${'ü'.repeat(51)}\n`)
  input.end('next\n')
  await served
  expect(received).toEqual(['BODY_TOO_LARGE', 'BODY_TOO_LARGE', 'next'])
})

test('a line that is not UTF-8 is refused, and the next one is taken', async () => {
  const { input, received, served } = connect()
  input.write(Buffer.from([0x61, 0x80, 0x0a]))
  input.end('next\n')
  await served
  expect(received).toEqual(['INVALID_UTF8', 'next'])
})

test('the session sees what the other end presents, and where it reaches the server', async () => {
  const { input, served, connection } = connect()
  input.end()
  await served
  expect([connection()?.peer.header('authorization'), connection()?.origin]).toEqual(['Bearer t', 'http://a.example'])
})

test('at the end of the input what is under way is answered first; a signal does not wait for it', async () => {
  const answered = Promise.withResolvers<void>()
  const order: string[] = []
  const session = {
    finish: () => answered.promise.then(() => void order.push('answered')),
    close: async () => void order.push('closed'),
  }
  const patient = connect(session)
  patient.input.end('last\n')
  answered.resolve()
  await patient.served
  expect(order).toEqual(['answered', 'closed'])

  const hurried = connect({ ...session, finish: () => new Promise(() => {}) })
  hurried.input.end('last\n')
  hurried.leaving.abort()
  await hurried.served
  expect(order).toEqual(['answered', 'closed', 'closed'])
})

test('an output that breaks ends the session, and not the process', async () => {
  const { output, served, connection, log } = connect()
  output.destroy(new Error('EPIPE'))
  await served
  expect(connection()?.signal.aborted).toBe(true)
  expect(log.map(({ message }) => message)).toEqual(['a stream of lines failed'])
})

test('a reader that takes nothing does not keep a session that closes', async () => {
  const { input, served, leaving, received } = connect({}, 1_000_000)
  input.write(`${'x'.repeat(500_000)}\n`)
  while (received.length === 0) await new Promise(setImmediate)
  leaving.abort()
  await served
  expect(received.length).toBe(1)
})

test('closing reads no more, and waits for what is under way as long as its grace', async () => {
  const answered = Promise.withResolvers<void>()
  const order: string[] = []
  const close = async () => void order.push('closed')
  const patient = connect({ finish: () => answered.promise.then(() => void order.push('answered')), close })
  const closing = patient.carrier.close(60_000)
  patient.input.write('late\n')
  answered.resolve()
  await closing
  await connect({ finish: () => new Promise(() => {}), close }).carrier.close(0)

  expect(order).toEqual(['answered', 'closed', 'closed'])
  expect(patient.received).toEqual([])
})
