/**
 * One-time tickets: the holder of a ticket may connect to one stream, once. A ticket has 256 bits. The store has its
 * hash only.
 */
import { Fault } from '../../core/fault.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Records } from '../../core/ports/store.ts'
import { READER_GONE_MS } from './stream-ends.ts'

/** A reader has this long to connect. */
export const TICKET_MS = READER_GONE_MS

export interface IssuedTicket {
  value: string
  expiresAt: number
  /** Written in the same commit as the stream. */
  record: RecordChange
}

export function issueTicket(env: Environment, id: string): IssuedTicket {
  const value = env.newSecret()
  const expiresAt = env.clock.now() + TICKET_MS
  return { value, expiresAt, record: { key: keyOf(env, value), value: id, expiresAt, expected: null } }
}

/** Uses the ticket. Throws a fault if it is unknown, used, expired or for another stream. */
export async function useTicket(env: Environment, records: Records, ticket: string, id: string): Promise<void> {
  const found = await records.take(keyOf(env, ticket))
  if (found === id) return
  throw new Fault('unauthenticated', 'This ticket is unknown, used or expired. Subscribe again to get a new one.', {
    code: 'INVALID_TICKET',
  })
}

function keyOf(env: Environment, ticket: string): string {
  return `stream-ticket/${env.digest(ticket)}`
}
