/**
 * Part of the message suite: a connection ends once, because the peer is gone or because the carrier closes it after
 * the last message was sent.
 */
import type { TestRunner } from '../runner.ts'
import type { MessageStory } from './messages.ts'
import { scripted } from './scripted.ts'

export function describeMessageEnds({ expect }: TestRunner, story: MessageStory, knowsPeer: boolean): void {
  if (knowsPeer) describeGonePeers({ expect }, story)

  story('closing delivers all messages of the session, also those sent while it closes, and closes once', () => {
    const session = scripted({
      receive(_text, { send }) {
        for (let index = 0; index < 50; index++) void send(`${index} ${'x'.repeat(64 * 1024)}`)
      },
      async close({ send }) {
        void send('farewell')
      },
    })
    return {
      session: session.open,
      async body(peer) {
        await peer.send('begin')
        await session.until(() => session.received.length === 1)
        const closing = Promise.all([peer.close(), peer.close()])
        const read: string[] = []
        for (let next = await peer.read(); next !== undefined; next = await peer.read()) read.push(next)
        await closing

        expect(read.map((text) => text.split(' ')[0])).toEqual([
          ...Array.from({ length: 50 }, (_, at) => `${at}`),
          'farewell',
        ])
        expect(session.closed()).toBe(1)
        expect(session.connection().signal.aborted).toBe(true)
      },
    }
  })
}

function describeGonePeers({ expect }: Pick<TestRunner, 'expect'>, story: MessageStory): void {
  story('when the peer is gone its session closes once, and its signal aborts', () => {
    const session = scripted()
    return {
      session: session.open,
      async body(peer) {
        await peer.send('hello')
        await session.until(() => session.received.length === 1)
        const { signal } = session.connection()
        const before = signal.aborted
        const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        await peer.leave()
        await gone
        await session.until(() => session.closed() > 0)
        await peer.close()

        expect(before).toBe(false)
        expect(session.closed()).toBe(1)
      },
    }
  })

  story('a send to a peer that is gone settles', () => {
    const session = scripted()
    return {
      session: session.open,
      async body(peer) {
        await peer.send('hello')
        await session.until(() => session.received.length === 1)
        const { send } = session.connection()
        const sending = Array.from({ length: 200 }, () => send('x'.repeat(64 * 1024)))
        await peer.leave()
        await Promise.all(sending)
        await send('after')
        await session.until(() => session.closed() === 1)
      },
    }
  })
}
