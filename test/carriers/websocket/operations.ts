/** Streams for the tests of WebSockets. */
import { jsonSchema, operation } from 'callplane'

type Frame = { n: number }

const frame = jsonSchema<Frame>({ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } })

/** Counts to `count`, and goes on until it is stopped if `stays` is true. */
export const counting = operation('v1:clock.tick', {
  args: jsonSchema<{ count: number; stays?: boolean }>({ type: 'object', required: ['count'] }),
  frame,
  async *run({ count, stays }, { signal }) {
    for (let n = 1; n <= count; n++) yield { n }
    if (stays) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
})

/** A source that the test drives: each frame is sent when the test says so. */
export function createFeed() {
  const queued: (Frame | Error | undefined)[] = []
  let wake = () => {}
  const push = (item: Frame | Error | undefined) => {
    queued.push(item)
    wake()
  }
  async function* frames(signal: AbortSignal): AsyncGenerator<Frame> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    while (!signal.aborted) {
      while (queued.length > 0) {
        const item = queued.shift()
        if (item === undefined) return
        if (item instanceof Error) throw item
        yield item
      }
      await Promise.race([stopped, new Promise<void>((resolve) => (wake = resolve))])
    }
  }
  return {
    send: (n: number) => push({ n }),
    fail: (error: Error) => push(error),
    end: () => push(undefined),
    plain: operation('v1:feed.follow', { frame, run: (_args: unknown, { signal }) => frames(signal) }),
    sealed: operation('v1:feed.sealed', {
      frame,
      stream: { integrity: 'crc32' },
      run: (_args: unknown, { signal }) => frames(signal),
    }),
  }
}
