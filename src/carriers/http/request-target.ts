/** The path and the query of a request, and the address at which its client reached the server. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { withoutBasePath } from '../../wire/http/base-path.ts'
import { isHostHeader } from '../../wire/http/site-rules.ts'

export interface AddressSettings {
  readonly publicUrl?: string | undefined
  readonly basePath?: string | undefined
}

export function targetOf({ url = '' }: IncomingMessage, basePath?: string): { path: string; query: string } {
  const target = originForm(url)
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  return {
    path: basePath === undefined ? path : withoutBasePath(path, basePath),
    query: mark < 0 ? '' : target.slice(mark + 1),
  }
}

export function originOf(request: IncomingMessage, { publicUrl, basePath }: AddressSettings): string {
  if (publicUrl !== undefined) return publicUrl
  const { socket, headers } = request
  const scheme = (socket as TLSSocket).encrypted ? 'https' : 'http'
  // Express removes the mount path from `url` and keeps it in `baseUrl`. Links need it.
  const mount = basePath ?? (request as { baseUrl?: string }).baseUrl ?? ''
  if (headers.host !== undefined && isHostHeader(headers.host)) return `${scheme}://${headers.host}${mount}`
  const address = socket.localAddress ?? 'localhost'
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${socket.localPort}${mount}`
}

/** RFC 9112, "absolute-form": a server must accept it. The host name in it is not used. */
function originForm(target: string): string {
  if (target.charCodeAt(0) === 0x2f) return target
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)
  if (!authority) return target
  const rest = target.slice(authority[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
