/** Scripted sessions for the stories. They record received messages, and each story overrides what it needs. */
import type { Fault } from '../../../core/fault.ts'
import type { Connection, Message, OpenSession, Session } from '../../../core/ports/session.ts'

/** The size limit of every story. */
export const MAX_BYTES = 100_000

export interface Scripted {
  readonly open: OpenSession
  readonly received: string[]
  readonly refused: Fault[]
  /** Number of times the session was closed. */
  closed(): number
  /** Resolves when `condition` holds. It is checked after every event of the session. */
  until(condition: () => boolean): Promise<void>
  connection(): Connection
}

type Script = Partial<{
  receive(text: string, connection: Connection): void | Promise<void>
  close(connection: Connection): Promise<void>
}>

export function scripted({ receive, close }: Script = {}): Scripted {
  const received: string[] = []
  const refused: Fault[] = []
  let connection: Connection | undefined
  let closings = 0
  let waiting: { condition: () => boolean; resolve: () => void }[] = []

  function look(): void {
    waiting = waiting.filter(({ condition, resolve }) => {
      if (!condition()) return true
      resolve()
      return false
    })
  }

  function session(given: Connection): Session {
    connection = given
    return {
      receive(message) {
        const text = textOf(message)
        received.push(text)
        try {
          return receive?.(text, given)
        } finally {
          // After the script has begun: a condition may be about what it has noted of this message.
          look()
        }
      },
      refuse(fault) {
        refused.push(fault)
        look()
      },
      finish: async () => {},
      async close() {
        closings++
        look()
        await close?.(given)
      },
    }
  }

  return {
    open: session,
    received,
    refused,
    closed: () => closings,
    until(condition) {
      return new Promise((resolve) => {
        waiting.push({ condition, resolve })
        look()
      })
    },
    connection() {
      if (!connection) throw new Error('The carrier has not opened a session yet.')
      return connection
    },
  }
}

export function textOf(message: Message): string {
  return typeof message === 'string' ? message : new TextDecoder().decode(message)
}
