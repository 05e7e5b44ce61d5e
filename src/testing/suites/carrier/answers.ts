/**
 * Part of the carrier suite: responses are streamed, are complete or visibly broken off, and never expose the message
 * of a bug.
 */
import type { Handle, Route } from '../../../core/ports/exchange.ts'
import type { TestRunner } from '../runner.ts'
import type { CarrierStory } from './carrier.ts'
import { codeOf, route, text } from './content.ts'

/** A handler that always responds with this body. */
const answering = (body: () => AsyncIterable<string | Uint8Array>, headers = {}): Route[] => [
  route('/it', { GET: () => ({ status: 200, headers, body: body() }) }),
]

async function* pieces(...given: readonly string[]): AsyncIterable<string> {
  yield* given
}

async function* failing(): AsyncIterable<string> {
  yield 'part'
  throw new Error('disk gone')
}

async function broke(reading: Promise<unknown>): Promise<boolean> {
  try {
    await reading
    return false
  } catch (error) {
    return error instanceof Error
  }
}

const BUGS: readonly [what: string, handle: Handle][] = [
  [
    'thrown at once',
    () => {
      throw new Error('password is hunter2')
    },
  ],
  ['thrown later', () => Promise.reject(new Error('password is hunter2'))],
  ['a header that would split the response', () => ({ status: 200, headers: { A: 'b\r\nSet-Cookie: c' }, body: '' })],
]

export function describeCarrierAnswers({ expect }: TestRunner, story: CarrierStory, noticesCancel: boolean): void {
  const gate = Promise.withResolvers<void>()
  async function* gated() {
    yield 'first,'
    await gate.promise
    yield new TextEncoder().encode('second')
  }
  story('an iterable is sent as it comes, before it has ended', answering(gated), async ({ send }) => {
    const reader = (await send('/it')).body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    gate.resolve()
    const second = new TextDecoder().decode((await reader?.read())?.value)
    expect([first, second, (await reader?.read())?.done]).toEqual(['first,', 'second', true])
  })

  const signals: AbortSignal[] = []
  const returned = Promise.withResolvers<void>()
  const canceled = Promise.withResolvers<void>()
  const silent = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        // Each piece comes in a turn of its own, so that the carrier can learn of the client between two of them.
        await (noticesCancel ? new Promise<never>(() => {}) : canceled.promise)
        await new Promise((resolve) => setTimeout(resolve, 1))
        return { done: false as const, value: 'late' }
      },
      return: async () => {
        returned.resolve()
        return { done: true as const, value: undefined }
      },
    }),
  }
  const watched = route('/silent', {
    GET: (exchange) => {
      signals.push(exchange.signal)
      return { status: 200, headers: {}, body: silent }
    },
  })
  story('when the client leaves, the source is returned and the signal aborts', [watched], async ({ send }) => {
    const reply = await send('/silent')
    await reply.body?.cancel()
    canceled.resolve()
    await returned.promise
    expect(signals.map((signal) => signal.aborted)).toEqual([true])
  })

  const heard: AbortSignal[] = []
  const brief = route('/brief', {
    GET: (exchange) => {
      heard.push(exchange.signal)
      return text('done')
    },
  })
  story('the signal does not abort after the response', [brief], async ({ send }) => {
    expect(await (await send('/brief')).text()).toBe('done')
    expect(heard.map((signal) => signal.aborted)).toEqual([false])
  })

  story('a source that fails breaks off the response', answering(failing), async ({ send }) => {
    // On some transports the break overtakes the head of the response.
    expect(await broke(send('/it').then((reply) => reply.text()))).toBe(true)
  })
  const short = answering(() => pieces('part'), { 'Content-Length': '10' })
  story('a source that is shorter than its Content-Length breaks off the response', short, async ({ send }) => {
    expect(await broke(send('/it').then((reply) => reply.text()))).toBe(true)
  })
  const long = answering(() => pieces('part', 'surplus'), { 'Content-Length': '6' })
  story('a source that is longer than its Content-Length is cut off', long, async ({ send }) => {
    const reading = send('/it').then((reply) => reply.text())
    const got = await reading.catch(() => '')
    expect(got.includes('surplus')).toBe(false)
  })

  let asked = 0
  const untouched = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: asked++ }) }) }
  story(
    'HEAD does not start the source of a GET',
    answering(() => untouched as unknown as AsyncIterable<string>, { 'Content-Length': '12' }),
    async ({ send }) => {
      const reply = await send('/it', { method: 'HEAD' })
      expect([reply.status, reply.headers.get('content-length'), asked]).toEqual([200, '12', 0])
    },
  )

  story(
    'a response without a body has no content type',
    [
      route('/it', {
        DELETE: () => ({ status: 204, headers: {} }),
        GET: () => ({ status: 200, headers: {}, body: 'x' }),
      }),
    ],
    async ({ send }) => {
      const deleted = await send('/it', { method: 'DELETE' })
      expect([deleted.status, await deleted.text(), deleted.headers.get('content-type')]).toEqual([204, '', null])
      expect((await send('/it')).headers.get('content-type')).toBe(null)
    },
  )

  for (const [what, handle] of BUGS) {
    story(`a bug in a handler is a plain refusal: ${what}`, [route('/it', { GET: handle })], async ({ send }) => {
      const reply = await send('/it')
      const body = await reply.clone().text()
      expect([reply.status, await codeOf(reply)]).toEqual([500, 'INTERNAL'])
      expect(/hunter2|set-cookie| at /i.test(body + JSON.stringify([...reply.headers]))).toBe(false)
    })
  }

  const speechless: Route = {
    path: '/it',
    methods: {},
    refuse: () => {
      throw new Error('no words')
    },
  }
  story('a refusal that fails itself still ends the request', [speechless], async ({ send }) => {
    const reply = await send('/it')
    expect([reply.status, await reply.text()]).toEqual([500, ''])
  })
}
