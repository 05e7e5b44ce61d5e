/** Lines on a pair of streams: in pieces, several at once, too long, and what happens at the end. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type LineSession, serveLines } from '../../src/carriers/stdio/index.ts'

function connect(session: Partial<LineSession> = {}, maxBytes = 100) {
  const input = new PassThrough()
  const output = new PassThrough()
  const received: string[] = []
  const leaving = new AbortController()
  const served = serveLines(
    { input, output, maxBytes },
    (send) => ({
      receive: (line) => {
        received.push(line)
        send(line.toUpperCase())
      },
      overflow: () => received.push('too long'),
      finished: async () => {},
      close: async () => {},
      ...session,
    }),
    leaving.signal,
  )
  return { input, output, received, leaving, served }
}

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

test('a line that is too long is thrown away as it comes, and the next one is taken', async () => {
  const { input, received, served } = connect()
  for (let at = 0; at < 50; at++) input.write('x'.repeat(10))
  input.end('\nnext\n')
  await served
  expect(received).toEqual(['too long', 'next'])
})

test('at the end of the input what is under way is answered first; a signal does not wait for it', async () => {
  const answered = Promise.withResolvers<void>()
  const order: string[] = []
  const session = {
    finished: () => answered.promise.then(() => void order.push('answered')),
    close: async () => void order.push('closed'),
  }
  const patient = connect(session)
  patient.input.end('last\n')
  answered.resolve()
  await patient.served
  expect(order).toEqual(['answered', 'closed'])

  const hurried = connect({ ...session, finished: () => new Promise(() => {}) })
  hurried.input.end('last\n')
  hurried.leaving.abort()
  await hurried.served
  expect(order).toEqual(['answered', 'closed', 'closed'])
})
