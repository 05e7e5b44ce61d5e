/** The clock of the database against the one of this machine. */
import { type Finding, fine, warning } from '../../../../core/finding.ts'
import { type Session, statement } from '../../connect/session.ts'
import type { ExamineOptions } from './examine.ts'

const NOW = statement('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
const MOST_MS = 1_000

export async function examineClock(session: Session, { now }: ExamineOptions): Promise<readonly Finding[]> {
  const askedAt = now()
  const { rows } = await session.query<{ now: number }>(NOW)
  const tookMs = now() - askedAt
  const differenceMs = Math.round((rows[0]?.now ?? 0) - (askedAt + tookMs / 2))
  // The reading may belong to any moment of the time that the question took.
  if (Math.abs(differenceMs) - tookMs / 2 <= MOST_MS)
    return [fine('clock', 'This machine and the database agree on the time.')]
  const where = differenceMs > 0 ? 'behind' : 'ahead of'
  return [
    warning(
      'clock',
      `This machine is ${Math.abs(differenceMs) / 1000} s ${where} the database. Leases follow the database, but tokens and certificates are checked by this clock.`,
      'Synchronize both clocks (NTP).',
    ),
  ]
}
