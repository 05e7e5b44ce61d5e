/**
 * The shared test suite for message carriers. Pass your runner's `describe`, `test` and `expect`, and a function that
 * connects a peer to a session over your carrier. The adapter itself tests its framing and its connection setup.
 */
import type { Log } from '../../../core/ports/runtime.ts'
import type { Message, OpenSession } from '../../../core/ports/session.ts'
import { createMemoryLog, type LogLine } from '../../fakes/memory-log.ts'
import type { TestRunner } from '../runner.ts'
import { describeMessageEnds } from './ends.ts'
import { describeMessageFlow } from './flow.ts'
import { describeMessageReceipt } from './receipt.ts'
import { MAX_BYTES } from './scripted.ts'

export interface MessageCarrierOptions {
  /** Limit for one message that the session receives. */
  maxBytes: number
  log: Log
}

/** The peer's end of one connection, and the carrier behind it. */
export interface OpenedMessages {
  /** Resolves when the message is sent. If the carrier acknowledges, resolves to true for an acknowledged message. */
  send(message: Message): Promise<unknown>
  /** The next message of the session, as text; `undefined` after the connection has ended. It does not read ahead. */
  read(): Promise<string | undefined>
  /** The peer disconnects abruptly. */
  leave(): Promise<void>
  /** The carrier closes its connections gracefully. */
  close(): Promise<void>
  cleanup(): Promise<void>
}

export type OpenMessages = (open: OpenSession, options: MessageCarrierOptions) => Promise<OpenedMessages>

export interface MessageCarrierTraits {
  /**
   * True if the carrier redelivers unacknowledged messages. Then `send` resolves to true for an acknowledged message.
   */
  acknowledges: boolean
  /**
   * False if a broker is between the peer and the carrier: the carrier does not know whether a peer reads or is gone, and
   * opens a session for each message. Default: true.
   */
  knowsPeer?: boolean
}

/** Connects a peer to a session for one story, and cleans up after it. */
export type MessageStory = (
  title: string,
  open: () => { session: OpenSession; body: (peer: OpenedMessages, log: readonly LogLine[]) => Promise<void> },
) => void

export function describeMessages(
  runner: TestRunner,
  name: string,
  openMessages: OpenMessages,
  { acknowledges, knowsPeer = true }: MessageCarrierTraits,
): void {
  const story: MessageStory = (title, open) => {
    runner.test(title, async () => {
      const { session, body } = open()
      const lines: LogLine[] = []
      const log = createMemoryLog(lines)
      const peer = await openMessages(session, { maxBytes: MAX_BYTES, log })
      try {
        await body(peer, lines)
      } finally {
        await peer.cleanup()
      }
    })
  }
  runner.describe(name, () => {
    describeMessageFlow(runner, story, knowsPeer)
    describeMessageEnds(runner, story, knowsPeer)
    describeMessageReceipt(runner, story, { acknowledges, knowsPeer })
  })
}
