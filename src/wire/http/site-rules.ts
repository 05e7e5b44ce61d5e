/**
 * Restricts where requests may come from: the Host allow-list that stops DNS rebinding, the refusal of cross-site
 * requests, and CORS for named origins. Every rule is off unless the server's composition configures it.
 */

import { Fault } from '../../core/fault.ts'

/** What a page of another origin needs: addresses, versions, delays, chunks and deprecations. */
const EXPOSED = [
  'Location',
  'ETag',
  'Retry-After',
  'Content-Range',
  'Call-State',
  'Call-Mime-Type',
  'Call-Cursor',
  'Call-Chunk-Offset',
  'Call-Chunk-Length',
  'Call-Chunk-Checksum',
  'Call-Chunk-Checksum-Previous',
  'Call-Total',
  'Deprecation',
  'Sunset',
  'Link',
]

export interface SiteOptions {
  /** Accepted `Host` values: `name` for any port, `name:port` for one. Default: every host. */
  hosts?: readonly string[]
  /** `loopback`: accepts requests from this machine only. For carriers that know the remote address. */
  remote?: 'loopback'
  /** `refuse`: no cross-site request reaches a handler, unless `cors` names its origin. */
  crossSite?: 'refuse' | 'allow'
  cors?: { origins: readonly string[]; exposeHeaders?: readonly string[]; maxAgeSeconds?: number }
  /** The server's public URL, including the path. Needed if `Host` differs from it, for example behind a proxy. */
  publicUrl?: string
}

/** For a server without authentication that listens on loopback only. */
export const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

const HOST = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,253}[a-z0-9.])?)(?::\d{1,5})?$/i

export function isHostHeader(text: string): boolean {
  return HOST.test(text)
}

// A dual-stack socket reports an IPv4 address as ::ffff:127.0.0.1.
const LOOPBACK_ADDRESS = /^(?:::ffff:)?127(?:\.\d{1,3}){3}$|^::1$/i

/** The part of a request that the rules check. An upgrade request has it before there is an exchange. */
export interface RequestHead {
  readonly method: string
  /** Lower-case name. */
  header(name: string): string | undefined
}

export interface SiteRules {
  /** Returns the reason to refuse this request, or `undefined`. `remoteAddress` is absent if it is not known. */
  objection(head: RequestHead, remoteAddress?: string): Fault | undefined
  /** Headers for every response, as name, value, name, value. */
  answerHeaders(head: RequestHead): readonly string[]
  preflightHeaders(head: RequestHead, allow: readonly string[]): Record<string, string>
}

const NONE: readonly string[] = []

/** Returns `undefined` if no rule is configured, so that requests cost nothing. */
export function createSiteRules(options: SiteOptions): SiteRules | undefined {
  const { hosts, cors, remote } = options
  if (!hosts && !cors && !remote && options.crossSite !== 'refuse') return undefined
  const allowedHosts = hosts && new Set(hosts.map((host) => host.toLowerCase()))
  const origins = new Set(cors?.origins.map((origin) => origin.toLowerCase()))
  const publicHost = options.publicUrl === undefined ? undefined : new URL(options.publicUrl).host
  const expose = (cors?.exposeHeaders ?? EXPOSED).join(', ')
  const maxAge = String(cors?.maxAgeSeconds ?? 600)
  // Consecutive requests usually have the same host and the same remote address.
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
      // The scheme is not compared: behind a proxy that terminates TLS, it differs from the browser's.
      const host = /^https?:\/\/(.+)$/i.exec(origin)?.[1]?.toLowerCase()
      return host === undefined || (host !== head.header('host')?.toLowerCase() && host !== publicHost)
    }
    const { method } = head
    return method !== 'GET' && method !== 'HEAD' && head.header('sec-fetch-site') === 'cross-site'
  }

  return {
    objection(head, remoteAddress) {
      // An unknown address is refused as well: a socket that was reset has no address.
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
    'This server has no authentication and accepts requests from this machine only; configure auth to call it from other machines.',
    { code: 'NOT_LOOPBACK' },
  )
}

function hostNotAllowed(host: string | undefined): Fault {
  return new Fault(
    'forbidden',
    host === undefined
      ? 'The request names no host; send a Host header with a name of this server.'
      : 'The name in the Host header is not a name of this server; use a name listed in its "hosts" option.',
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
