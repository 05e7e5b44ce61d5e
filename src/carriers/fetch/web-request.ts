/** Returns the request as a Fetch `Request`: the host's own if there is one, otherwise one built from the exchange. */
import type { Exchange } from '../../core/ports/exchange.ts'
import { FetchExchange } from './fetch-exchange.ts'

/** A request built here has no body: the body is read from the exchange. */
export function webRequest(exchange: Exchange): Request {
  if (exchange instanceof FetchExchange) return exchange.request
  const { origin, path, query, method, signal } = exchange
  const headers = new Headers()
  for (const [name, value] of exchange.headers()) headers.append(name, value)
  return new Request(`${origin}${path}${query === '' ? '' : `?${query}`}`, { method, headers, signal })
}
