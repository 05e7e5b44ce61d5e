/** Where a guarded request may go: judged by its URL before anything is sent, and by its addresses once they are known. */
import { isIP, type LookupFunction } from 'node:net'
import { Fault } from '../../core/fault.ts'
import { mayConnectTo } from './addresses.ts'

export interface OutboundRules {
  /**
   * Hosts that may be fetched from: `cdn.example.com`, `*.example.com` (its subdomains), `*` (every public host).
   * https and its own port, unless the entry says otherwise: `http://files.internal:8080`. None: nothing is fetched.
   */
  allowHosts?: readonly string[]
  /** Lets allowed hosts be in a private network or on this machine. Metadata services stay out of reach. */
  allowPrivate?: boolean
  /** How names become addresses; the system's way unless given. */
  resolve?: Resolve
}

export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

export interface TargetRules {
  /** The URL if its scheme, host and port are allowed; else a fault. */
  check(uri: string): URL
  /** For node:http: hands out checked addresses only, so that the connection goes to what was checked. */
  readonly lookup: LookupFunction
}

export function refused(message: string): Fault {
  return new Fault('invalid-input', message, { code: 'MEDIA_REF_REFUSED' })
}

export function createTargetRules(options: OutboundRules, resolve: Resolve): TargetRules {
  const entries = (options.allowHosts ?? []).map(parseEntry)
  const allowPrivate = options.allowPrivate ?? false
  return {
    check(uri) {
      const url = parseTarget(uri)
      const host = bareHost(url)
      if (entries.length === 0) {
        throw refused('References are not fetched by this server; its operator can allow hosts with "allowHosts".')
      }
      if (!entries.some((entry) => entry.scheme === url.protocol && entry.port === url.port && covers(entry, host))) {
        throw refused(
          `${url.protocol}//${url.host} is not among the places references may point to; use another one, or have ` +
            'the operator add it to "allowHosts".',
        )
      }
      // A literal address is never looked up, so it is judged here.
      if (isIP(host) !== 0 && !mayConnectTo(host, allowPrivate)) throw refusedAddress(host)
      return url
    },
    lookup: createCheckedLookup(resolve, allowPrivate, refusedAddress),
  }
}

/** For node's sockets: hands out addresses that may be connected to, or fails with what `refuse` says of the host. */
export function createCheckedLookup(
  resolve: Resolve,
  allowPrivate: boolean,
  refuse: (host: string) => Fault,
): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname).then(
      (addresses) => {
        // One bad address is enough: which one a connection would take is chance.
        const bad = addresses.find(({ address }) => !mayConnectTo(address, allowPrivate))
        const first = addresses[0]
        if (bad) callback(refuse(hostname), '')
        else if (!first) callback(new Error(`${hostname} has no address`), '')
        else if (all) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
}

function refusedAddress(host: string): Fault {
  return refused(`${host} is not at a public address; references must point to a public host.`)
}

function parseTarget(uri: string): URL {
  if (!URL.canParse(uri)) throw refused('The reference is not an absolute URL; write it as https://host/path.')
  const url = new URL(uri)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw refused(`A reference cannot use ${url.protocol} here; use https.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('The reference carries a user name or password; use a pre-signed URL instead.')
  }
  return url
}

/** As the URL parser writes it (so `0x7f.1` is `127.0.0.1`), without brackets and without a final dot. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

interface Entry {
  scheme: string
  port: string
  /** A whole name; empty with `subdomains` for every name. */
  host: string
  subdomains: boolean
}

function parseEntry(text: string): Entry {
  const whole = text.includes('://') ? text : `https://${text}`
  const everything = /^https?:\/\/\*(?::\d+)?$/.test(whole)
  const plain = whole.replace(everything ? '://*' : '://*.', everything ? '://any' : '://')
  if (!/^https?:\/\/[^*/@?#]+$/i.test(plain) || !URL.canParse(plain)) throw badEntry(text)
  const url = new URL(plain)
  return {
    scheme: url.protocol,
    port: url.port,
    host: everything ? '' : bareHost(url),
    subdomains: plain !== whole,
  }
}

function badEntry(text: string): Fault {
  return new Fault(
    'malformed',
    `"${text}" in allowHosts is no host; write cdn.example.com, *.example.com, http://host:8080 or *.`,
  )
}

function covers({ host, subdomains }: Entry, name: string): boolean {
  if (!subdomains) return name === host
  return host === '' || name.endsWith(`.${host}`)
}
