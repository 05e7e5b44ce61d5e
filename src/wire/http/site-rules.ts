/**
 * Who may talk to us from where: the Host allow-list that stops DNS rebinding, the refusal of requests other sites'
 * pages make, and CORS for the origins that are named. All of it is off unless configured by whoever composes the server.
 */

import { Fault } from '../../core/fault.ts'

export interface SiteOptions {
  /** Accepted `Host` values: `name` for any port, `name:port` for one. Absent: every host. */
  hosts?: readonly string[]
  /** `loopback`: only this machine is answered. For carriers that know where a request comes from. */
  remote?: 'loopback'
  /** `refuse`: no request that another site's page makes gets to a handler, unless `cors` names its origin. */
  crossSite?: 'refuse' | 'allow'
  cors?: { origins: readonly string[]; exposeHeaders?: readonly string[]; maxAgeSeconds?: number }
  /** How callers reach us, path included, where it is not what `Host` says: behind a proxy, say. */
  publicUrl?: string
}

/** For a server that has no authentication and listens on loopback only. */
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,253}[a-z0-9.])?)(?::\d{1,5})?$/i

export function isHostHeader(text: string): boolean {
  return HOST.test(text)
}

// A server that listens on IPv6 and IPv4 at once sees the latter as ::ffff:127.0.0.1.
const LOOPBACK_ADDRESS = /^(?:::ffff:)?127(?:\.\d{1,3}){3}$|^::1$/i

/** The part of a request that the rules look at. An upgrade request has it as well, before there is an exchange. */
export interface RequestHead {
  readonly method: string
  /** Lower-case name. */
  header(name: string): string | undefined
}

export interface SiteRules {
  /** Why this request gets no further, if so. `remoteAddress` is absent where it is not known. */
  objection(head: RequestHead, remoteAddress?: string): Fault | undefined
  /** For every answer, as name, value, name, value. */
  answerHeaders(head: RequestHead): readonly string[]
  preflightHeaders(head: RequestHead, allow: readonly string[]): Record<string, string>
}

const NONE: readonly string[] = []

/** Nothing if no rule is configured, so that it costs nothing. */
export function createSiteRules(options: SiteOptions): SiteRules | undefined {
  const { hosts, cors, remote } = options
  if (!hosts && !cors && !remote && options.crossSite !== 'refuse') return undefined
  const allowedHosts = hosts && new Set(hosts.map((host) => host.toLowerCase()))
  const origins = new Set(cors?.origins.map((origin) => origin.toLowerCase()))
  const publicHost = options.publicUrl === undefined ? undefined : new URL(options.publicUrl).host
  const expose = (cors?.exposeHeaders ?? ['Location', 'ETag', 'Retry-After', 'Content-Range']).join(', ')
  const maxAge = String(cors?.maxAgeSeconds ?? 600)
  // Almost every request names the host the one before it named, and comes from where that one came from.
  let lastAccepted: string | undefined
  let lastLoopback: string | undefined

  function hostAllowed(host: string | undefined): boolean {
    if (!allowedHosts || (host !== undefined && host === lastAccepted)) return true
    const name = host === undefined ? undefined : HOST.exec(host)?.[1]
    if (host === undefined || name === undefined) return false
    if (!allowedHosts.has(name.toLowerCase()) && !allowedHosts.has(host.toLowerCase())) return false
    lastAccepted = host
    return true
  }

  function namedOrigin(origin: string): boolean {
    return origins.has(origin.toLowerCase()) || origins.has('*')
  }

  function fromElsewhere(head: RequestHead): boolean {
    const origin = head.header('origin')
    if (origin !== undefined) {
      if (namedOrigin(origin)) return false
      // The scheme is left out: behind a proxy that ends TLS it is not the one the browser sees.
      const host = /^https?:\/\/(.+)$/i.exec(origin)?.[1]?.toLowerCase()
      return host === undefined || (host !== head.header('host')?.toLowerCase() && host !== publicHost)
    }
    const { method } = head
    return method !== 'GET' && method !== 'HEAD' && head.header('sec-fetch-site') === 'cross-site'
  }

  return {
    objection(head, remoteAddress) {
      // Not known also means no: a socket that has been reset has no address any more.
      if (remote && (remoteAddress === undefined || remoteAddress !== lastLoopback)) {
        if (!LOOPBACK_ADDRESS.test(remoteAddress ?? '')) return notLoopback()
        lastLoopback = remoteAddress
      }
      if (!hostAllowed(head.header('host'))) return hostNotAllowed(head.header('host'))
      if (options.crossSite === 'refuse' && fromElsewhere(head)) return crossSite(head.header('origin'))
      return undefined
    },
    answerHeaders(head) {
      if (!cors) return NONE
      const origin = head.header('origin')
      if (origin === undefined || !namedOrigin(origin)) return ['Vary', 'Origin']
      return ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', expose]
    },
    preflightHeaders(head, allow) {
      const origin = head.header('origin')
      if (!cors || origin === undefined || !namedOrigin(origin)) return {}
      const wanted = head.header('access-control-request-headers')
      return {
        'Access-Control-Allow-Methods': allow.join(', '),
        'Access-Control-Max-Age': maxAge,
        ...(wanted !== undefined && { 'Access-Control-Allow-Headers': wanted }),
      }
    },
  }
}

function notLoopback(): Fault {
  return new Fault(
    'forbidden',
    'This server has no authentication and answers this machine only; configure auth to call it from elsewhere.',
    { code: 'NOT_LOOPBACK' },
  )
}

function hostNotAllowed(host: string | undefined): Fault {
  return new Fault(
    'forbidden',
    host === undefined
      ? 'The request names no host; send a Host header this server is known by.'
      : 'This server is not known by the name in the Host header; use a name listed in its "hosts" option.',
    { code: 'HOST_NOT_ALLOWED' },
  )
}

function crossSite(origin: string | undefined): Fault {
  return new Fault(
    'forbidden',
    `A page of another site${origin === undefined ? '' : ' (see the Origin header)'} made this request; ` +
      'to allow it, name its origin in the "cors.origins" option.',
    { code: 'CROSS_SITE' },
  )
}
