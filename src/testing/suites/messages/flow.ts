/**
 * Part of the message suite: messages keep their order in both directions, and buffers for a slow reader are bounded.
 */
import type { TestRunner } from '../runner.ts'
import type { MessageStory } from './messages.ts'
import { scripted } from './scripted.ts'

/** More than a carrier may buffer for one peer, including the buffers of the operating system. */
const MAX_AHEAD = 128
const LARGE = 'x'.repeat(64 * 1024)
const MANY = 1_000

const numbers = Array.from({ length: 200 }, (_, index) => String(index))

export function describeMessageFlow({ expect }: TestRunner, story: MessageStory, knowsPeer: boolean): void {
  story('messages keep their order in both directions', () => {
    const session = scripted({ receive: (text, { send }) => send(`re ${text}`) })
    return {
      session: session.open,
      async body(peer) {
        const sending = Promise.all(numbers.map((number) => peer.send(number)))
        const read: (string | undefined)[] = []
        while (read.length < numbers.length) read.push(await peer.read())
        await sending

        expect(session.received).toEqual(numbers)
        expect(read).toEqual(numbers.map((number) => `re ${number}`))
      },
    }
  })

  story('text arrives with its characters, and bytes arrive as they are', () => {
    const session = scripted({
      async receive(text, { send }) {
        await send(text)
        await send(new TextEncoder().encode(`bytes of ${text}`))
      },
    })
    return {
      session: session.open,
      async body(peer) {
        await peer.send('grüße 🦊')
        expect([await peer.read(), await peer.read()]).toEqual(['grüße 🦊', 'bytes of grüße 🦊'])
      },
    }
  })

  // A broker stands between the carrier and a slow peer.
  if (knowsPeer) describeSlowPeers({ expect }, story)

  story('the messages in progress are bounded', () => {
    const held: (() => void)[] = []
    let running = 0
    let most = 0
    const session = scripted({
      async receive() {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => held.push(resolve))
        running--
      },
    })
    return {
      session: session.open,
      async body(peer) {
        const total = 5_000
        const sending = Promise.all(Array.from({ length: total }, () => peer.send('more')))
        for (let released = 0; released < total; released++) {
          await session.until(() => held.length > 0)
          held.shift()?.()
        }
        await sending
        expect(most <= 2_000).toBe(true)
        expect(session.received.length).toBe(total)
      },
    }
  })
}

function describeSlowPeers({ expect }: Pick<TestRunner, 'expect'>, story: MessageStory): void {
  story('a session that waits for its sends is never far ahead of a slow reader', () => {
    let sent = 0
    const session = scripted({
      receive(_text, { send }) {
        const push = async () => {
          for (; sent < MANY; sent++) await send(LARGE)
        }
        void push()
      },
    })
    return {
      session: session.open,
      async body(peer) {
        await peer.send('begin')
        let furthest = 0
        for (let read = 1; read <= MANY; read++) {
          await peer.read()
          furthest = Math.max(furthest, sent - read)
        }
        expect(furthest < MAX_AHEAD).toBe(true)
        expect(sent >= MANY - 1).toBe(true)
      },
    }
  })

  story('a peer that does not read its replies is not read from', () => {
    let answered = 0
    const session = scripted({
      async receive(_text, { send }) {
        answered++
        await send(LARGE)
      },
    })
    return {
      session: session.open,
      async body(peer) {
        const sending = Promise.all(Array.from({ length: MANY }, () => peer.send('more')))
        let furthest = 0
        for (let read = 1; read <= MANY; read++) {
          await peer.read()
          furthest = Math.max(furthest, answered - read)
        }
        await sending
        expect(furthest < MAX_AHEAD).toBe(true)
      },
    }
  })
}
