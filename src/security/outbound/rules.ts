/** Where a reference may lead: to hosts that the operator allows. Addresses are checked by the guarded client. */
import { Fault } from '../../core/fault.ts'
import { bareHost, type Refusals, type Resolve, type Target } from './guarded-http.ts'

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

export function refused(message: string): Fault {
  return new Fault('invalid-input', message, { code: 'MEDIA_REF_REFUSED' })
}

/** What is said of a reference that leads where none may. */
export const referenceRefusals: Refusals = {
  notAbsolute: () => refused('The reference is not an absolute URL; write it as https://host/path.'),
  scheme: (protocol) => refused(`A reference cannot use ${protocol} here; use https.`),
  userInfo: () => refused('The reference carries a user name or password; use a pre-signed URL instead.'),
  address: (host) => refused(`${host} is not at a public address; references must point to a public host.`),
}

/** Throws a refusal unless the operator allows the scheme, host and port of a target. */
export function createHostRules({ allowHosts = [] }: OutboundRules): (target: Target) => void {
  const entries = allowHosts.map(parseEntry)
  return ({ url, host }) => {
    if (entries.length === 0) {
      throw refused('References are not fetched by this server; its operator can allow hosts with "allowHosts".')
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
