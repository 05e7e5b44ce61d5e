/**
 * Part of the message suite: messages that are too large, invalid, or make the session throw, and the time of
 * acknowledgement.
 */
import type { TestRunner } from '../runner.ts'
import type { MessageCarrierTraits, MessageStory } from './messages.ts'
import { MAX_BYTES, scripted } from './scripted.ts'

export function describeMessageReceipt(
  { expect }: TestRunner,
  story: MessageStory,
  { acknowledges, knowsPeer }: Required<MessageCarrierTraits>,
): void {
  story('a message above the limit is refused with a fault, and the next one is accepted', () => {
    const session = scripted()
    return {
      session: session.open,
      async body(peer) {
        await peer.send('x'.repeat(MAX_BYTES + 1))
        await peer.send('ü'.repeat(MAX_BYTES / 2 + 1))
        await peer.send('y'.repeat(MAX_BYTES))
        await session.until(() => session.received.length === 1)

        expect(session.received[0]?.length).toBe(MAX_BYTES)
        expect(session.refused.map(({ kind, code }) => `${kind} ${code}`)).toEqual([
          'malformed BODY_TOO_LARGE',
          'malformed BODY_TOO_LARGE',
        ])
      },
    }
  })

  story('bytes that are not text do not end the session', () => {
    const session = scripted()
    return {
      session: session.open,
      async body(peer) {
        await peer.send(Uint8Array.of(0xff, 0xfe, 0x00, 0x80))
        await peer.send('next')
        await session.until(() => session.received.at(-1) === 'next')

        expect(session.received.length + session.refused.length).toBe(2)
        if (knowsPeer) expect(session.closed()).toBe(0)
      },
    }
  })

  story('a session that throws does not end: the error is logged, and the next message is accepted', () => {
    const session = scripted({
      receive(text) {
        if (text === 'throw') throw new Error('thrown at once')
        if (text === 'reject') return Promise.reject(new Error('thrown later'))
        return undefined
      },
    })
    return {
      session: session.open,
      async body(peer, log) {
        for (const text of ['throw', 'reject', 'next']) await peer.send(text)
        await session.until(() => session.received.length === 3)

        expect(log.filter(({ level }) => level === 'error').map(({ fields }) => String(fields.err))).toEqual([
          'Error: thrown at once',
          'Error: thrown later',
        ])
        if (knowsPeer) expect(session.closed()).toBe(0)
      },
    }
  })

  if (!acknowledges) return

  story('a message is acknowledged only when the session has settled it, and not when it failed', () => {
    const held: PromiseWithResolvers<void>[] = []
    const session = scripted({
      receive() {
        const holding = Promise.withResolvers<void>()
        held.push(holding)
        return holding.promise
      },
    })
    return {
      session: session.open,
      async body(peer) {
        const told: string[] = []
        const first = peer.send('first').then((done) => void told.push(`first ${done}`))
        const second = peer.send('second').then((done) => void told.push(`second ${done}`))
        await session.until(() => session.received.length === 2)
        const before = [...told]
        held[1]?.resolve()
        await second
        held[0]?.reject(new Error('not recorded'))
        await first

        expect(before).toEqual([])
        expect(told).toEqual(['second true', 'first false'])
      },
    }
  })
}
