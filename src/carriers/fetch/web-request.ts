/** A request as Fetch has it, for those who want one: the host's own where there is one, else made of the exchange. */
import type { Exchange } from '../../core/ports/exchange.ts'
import { FetchExchange } from './fetch-exchange.ts'

/** Without a body: that has been read, or will be, by somebody else. */
export function webRequest(exchange: Exchange): Request {
  if (exchange instanceof FetchExchange) return exchange.request
  const { origin, path, query, method, signal } = exchange
  const headers = new Headers()
  for (const [name, value] of exchange.headers()) headers.append(name, value)
  return new Request(`${origin}${path}${query === '' ? '' : `?${query}`}`, { method, headers, signal })
}
