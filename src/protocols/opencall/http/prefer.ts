/** The client's preferences in the header `Prefer`. RFC 7240. */

import type { Exchange } from '../../../core/ports/exchange.ts'

/** Section 4.3. */
export function preferredWaitMs(exchange: Pick<Exchange, 'header'>): number {
  const prefer = exchange.header('prefer')
  const match = prefer === undefined ? null : /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:$|[,;])/i.exec(prefer)
  return match ? Number(match[1]) * 1000 : 0
}

/** docs/readings.md#r04 */
export function prefersRedirect(exchange: Pick<Exchange, 'header'>): boolean {
  return /(?:^|,)\s*redirect\s*(?:$|[,;])/i.test(exchange.header('prefer') ?? '')
}
