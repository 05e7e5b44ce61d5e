/** Operations whose streams the WebRTC tests read. */
import { setTimeout as pause } from 'node:timers/promises'
import { jsonSchema, operation } from 'callplane'

const anything = jsonSchema<Record<string, unknown>>({ type: 'object' })
const frame = jsonSchema<{ n: number }>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

/** Numbers from 1 to `count`, without a pause. */
export const count = operation('v1:numbers.count', {
  args: jsonSchema<{ count: number }>({ type: 'object', properties: { count: { type: 'integer' } } }),
  frame,
  async *run({ count: last }) {
    for (let n = 1; n <= last; n++) yield { n }
  },
})

/** A number every few milliseconds, until the stream is stopped. */
export const tick = operation('v1:numbers.tick', {
  args: anything,
  frame,
  async *run(_, { signal }) {
    for (let n = 1; !signal.aborted; n++) {
      yield { n }
      await pause(5)
    }
  },
})

export const fails = operation('v1:numbers.fail', {
  args: anything,
  frame,
  async *run(_, ctx) {
    yield { n: 1 }
    ctx.fail('DEVICE_OFF', 'The device is off.')
  },
})
