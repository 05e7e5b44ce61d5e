/** Server-sent events: written events are read back from pieces of any size, and the size of an event is limited. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  EventDecoder,
  encodeComment,
  encodeEvent,
  HEARTBEAT,
  isEventStream,
  orHeartbeat,
  type ServerSentEvent,
} from '../../src/wire/http/event-stream.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function decode(stream: Uint8Array, cuts: readonly number[] = [], maxLength = 1_000_000): ServerSentEvent[] {
  const decoder = new EventDecoder({ maxLength })
  const at = [0, ...[...cuts].map((cut) => cut % (stream.length + 1)).sort((a, b) => a - b), stream.length]
  return at.slice(1).flatMap((end, index) => decoder.push(stream.subarray(at[index], end)))
}

const line = fc.string({ unit: 'binary' }).map((text) => text.replace(/[\r\n]/g, ''))
const name = line.filter((text) => text !== '' && !text.startsWith(' '))

test('every event is read back, for every split into pieces', () => {
  const data = fc.array(line, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'))
  const sent = fc.array(fc.record({ event: name, data }), { maxLength: 5 })
  fc.assert(
    fc.property(sent, fc.array(fc.nat(), { maxLength: 20 }), fc.boolean(), (events, cuts, commented) => {
      const text = events.map(({ event, data }) => (commented ? HEARTBEAT : '') + encodeEvent(event, data)).join('')
      expect(decode(bytes(text), cuts)).toEqual(events.map((event) => ({ ...event, id: '' })))
    }),
  )
})

test('the same stream gives the same events with every kind of line end, cut anywhere', () => {
  const lines = [
    'id: 7',
    'event:add',
    'data: a',
    'data:  b',
    'data',
    '',
    ': comment',
    'retry: 5',
    '',
    'data: é',
    '',
    '',
  ]
  const expected = [
    { event: 'add', data: 'a\n b\n', id: '7' },
    { event: 'message', data: 'é', id: '7' },
  ]
  for (const end of ['\n', '\r', '\r\n']) {
    const stream = bytes(lines.join(end))
    for (let cut = 0; cut <= stream.length; cut++) expect(decode(stream, [cut])).toEqual(expected)
    expect(decode(stream, [...stream.keys()])).toEqual(expected)
  }
})

test('an event that is cut off is left out, and a byte order mark is skipped', () => {
  expect(decode(bytes('\uFEFFdata: a\n\ndata: b\n'))).toEqual([{ event: 'message', data: 'a', id: '' }])
})

test('an id with a null character is ignored', () => {
  expect(decode(bytes('id: a\0b\ndata: x\n\n'))).toEqual([{ event: 'message', data: 'x', id: '' }])
})

test('each event may be as long as allowed, and no longer', () => {
  const decoder = new EventDecoder({ maxLength: 10 })
  for (let sent = 0; sent < 50; sent++) expect(decoder.push(bytes('data: abcd\n\n'))).toHaveLength(1)

  expect(() => decoder.push(bytes('data: abcde'))).toThrow('longer than the 10 characters')
})

test('a long line in many pieces is looked at once', () => {
  const decoder = new EventDecoder({ maxLength: 3_000_000 })
  const pieces = 2_000
  const piece = bytes('x'.repeat(1_000))
  decoder.push(bytes('data: '))
  for (let at = 0; at < pieces; at++) expect(decoder.push(piece)).toEqual([])

  expect(decoder.push(bytes('\n\n'))[0]?.data).toHaveLength(pieces * 1_000)
})

test.each([
  ['text/event-stream', true],
  ['Text/Event-Stream; charset=utf-8', true],
  ['text/event-streams', false],
  ['application/json', false],
  [undefined, false],
])('%s is a stream of events: %s', (type, expected) => {
  expect(isEventStream(type)).toBe(expected)
})

test('data cannot start a new event', () => {
  const text = encodeEvent('state', 'a\n\nevent: end\r\rdata: b')

  expect(decode(bytes(text))).toEqual([{ event: 'state', data: 'a\n\nevent: end\n\ndata: b', id: '' }])
  expect(decode(bytes(encodeComment('listening')))).toEqual([])
})

test('a wait that ends, well or badly, leaves no timer', async () => {
  let timers = 0
  const clock = {
    now: () => 0,
    monotonicMs: () => 0,
    schedule: () => {
      timers++
      return () => void timers--
    },
  }

  expect(await orHeartbeat(Promise.resolve('next'), clock)).toBe('next')
  await expect(orHeartbeat(Promise.reject(new Error('gone')), clock)).rejects.toThrow('gone')
  expect(timers).toBe(0)
})
