/** Decides which hosts a reference may point to. The guarded client checks the addresses. */
import { Fault } from '../../core/fault.ts'
import { bareHost, type Refusals, type Resolve, type Target } from './guarded-http.ts'

export interface OutboundRules {
  /**
   * Hosts that may be fetched from: `cdn.example.com`, `*.example.com` (its subdomains), `*` (every public host). An
   * entry means https and its default port, unless it names others: `http://files.internal:8080`. Default: none, so
   * nothing is fetched.
   */
  allowHosts?: readonly string[]
  /** Allows hosts in a private network or on this machine. Metadata services are never allowed. */
  allowPrivate?: boolean
  /** Resolves host names. Default: the system's resolver. */
  resolve?: Resolve
}

export function refused(message: string): Fault {
  return new Fault('invalid-input', message, { code: 'MEDIA_REF_REFUSED' })
}

/** The faults for a reference to a place that is not allowed. */
export const referenceRefusals: Refusals = {
  notAbsolute: () => refused('The reference is not an absolute URL; write it as https://host/path.'),
  scheme: (protocol) => refused(`A reference cannot use ${protocol} here; use https.`),
  userInfo: () => refused('The reference carries a user name or password; use a pre-signed URL instead.'),
  address: (host) => refused(`${host} is not at a public address; references must point to a public host.`),
}

/** The returned function throws a fault unless the operator allows the target's scheme, host and port. */
export function createHostRules({ allowHosts = [] }: OutboundRules): (target: Target) => void {
  const entries = allowHosts.map(parseEntry)
  return ({ url, host }) => {
    if (entries.length === 0) {
      throw refused('This server does not fetch references; its operator can allow hosts with "allowHosts".')
    }
    if (entries.some((entry) => entry.scheme === url.protocol && entry.port === url.port && covers(entry, host))) return
    throw refused(
      `${url.protocol}//${url.host} is not among the places references may point to; use another one, or have ` +
        'the operator add it to "allowHosts".',
    )
  }
}

interface Entry {
  scheme: string
  port: string
  /** A whole name. Empty with `subdomains` for every name. */
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
    `"${text}" in allowHosts is not a valid host; write cdn.example.com, *.example.com, http://host:8080 or *.`,
  )
}

function covers({ host, subdomains }: Entry, name: string): boolean {
  if (!subdomains) return name === host
  return host === '' || name.endsWith(`.${host}`)
}
