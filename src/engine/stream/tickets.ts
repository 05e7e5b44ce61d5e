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

/** Throws a fault if the ticket is unknown, used, expired or for another stream. Does not use it. */
export async function checkTicket(env: Environment, records: Records, ticket: string, id: string): Promise<void> {
  if ((await records.get(keyOf(env, ticket))) !== id) throw invalidTicket()
}

/** Uses a ticket that was checked. Throws a fault if another reader was faster. */
export async function useTicket(env: Environment, records: Records, ticket: string): Promise<void> {
  if ((await records.take(keyOf(env, ticket))) === undefined) throw invalidTicket()
}

function invalidTicket(): Fault {
  const message = 'This ticket is unknown, used or expired. Subscribe again to get a new one.'
  return new Fault('unauthenticated', message, { code: 'INVALID_TICKET' })
}

function keyOf(env: Environment, ticket: string): string {
  return `stream-ticket/${env.digest(ticket)}`
}
