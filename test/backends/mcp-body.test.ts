import { expect, test } from 'vitest'
import { BodyMeter } from '../../src/backends/mcp/bounded-body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('a body has one limit, a stream of events has it for each event', () => {
  const whole = new BodyMeter(10, false)
  const events = new BodyMeter(10, true)
  whole.add(bytes('12345678'))

  expect(() => whole.add(bytes('901'))).toThrow('larger than 10 bytes')
  for (let sent = 0; sent < 20; sent++) for (const piece of ['data: ', 'ab\r', '\n\r\n']) events.add(bytes(piece))
  expect(() => events.add(bytes('data: abcdefg'))).toThrow('larger than 10 bytes')
})

test('the lines of one event share one limit, and a stream with an id can be resumed', () => {
  const events = new BodyMeter(10, true)
  events.add(bytes('data: a\n\ni'))
  expect(events.resumable).toBe(false)

  events.add(bytes('d:1\ndata:\n'))
  expect(events.resumable).toBe(false)
  events.add(bytes('\n'))
  expect(events.resumable).toBe(true)

  events.add(bytes('data: a\n'))
  expect(() => events.add(bytes('id: 1'))).toThrow('larger than 10 bytes')
})
