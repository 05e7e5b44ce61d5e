/** Reads a Postgres URL: hosts, login, and the TLS rules of `sslmode`. Messages about it never contain the password. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import { Fault } from '../../../core/fault.ts'

export interface Address {
  /** Tried in order, because only one of them is the primary. */
  hosts: readonly { host: string; port: number }[]
  user: string | undefined
  password: string | undefined
  database: string | undefined
  /** `undefined` for plain text. */
  tls: TlsOptions | undefined
  /** For messages and logs: hosts and database, without the login. */
  shown: string
}

const SHAPE = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host']
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/

export function parseAddress(url: string): Address {
  const [, login = '', authority = '', name = '', query = ''] = SHAPE.exec(url) ?? []
  if (!SHAPE.test(url)) throw refused('It must look like postgres://user:password@host:5432/database.')
  const parameters = new URLSearchParams(query)
  for (const key of parameters.keys())
    if (!PARAMETERS.includes(key)) throw refused(`It has no parameter "${key}". It has ${PARAMETERS.join(', ')}.`)
  const colon = login.indexOf(':')
  const user = decode(colon < 0 ? login : login.slice(0, colon))
  const password = colon < 0 ? '' : decode(login.slice(colon + 1))
  const hosts = hostsOf(authority === '' ? (parameters.get('host') ?? 'localhost') : authority)
  const database = decode(name)
  return {
    hosts,
    user: user || undefined,
    password: password || undefined,
    database: database || undefined,
    tls: tlsOf(parameters, hosts),
    shown: `${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`,
  }
}

function hostsOf(authority: string): Address['hosts'] {
  return authority.split(',').map((each) => {
    const socket = decode(each)
    if (socket.startsWith('/')) return { host: socket, port: 5432 }
    const [, host, port = '5432'] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(each) ?? []
    if (host === undefined) throw refused('A host must be a name or an address, with a port if it is not 5432.')
    return { host: decode(host.replace(/^\[(.*)\]$/, '$1')), port: Number(port) }
  })
}

/** Plain text is the default only where nothing leaves the machine. */
function tlsOf(parameters: URLSearchParams, hosts: Address['hosts']): TlsOptions | undefined {
  const local = hosts.every(({ host }) => host.startsWith('/') || LOOPBACK.test(host))
  const mode = parameters.get('sslmode') ?? (local ? 'disable' : 'verify-full')
  if (!MODES.some((known) => known === mode))
    throw refused(`sslmode is one of ${MODES.join(', ')}. There is no mode that falls back to plain text.`)
  if (mode === 'disable') return undefined
  const file = (key: string) => {
    const path = parameters.get(key)
    return path === null ? undefined : readNamed(key, path)
  }
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')]
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    // As libpq does it: `require` encrypts, and checks the certificate only if there is a root certificate.
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
}

/** The name that TLS checks. An address cannot be a server name. */
export function serverName(host: string): { servername?: string } {
  return isIP(host) > 0 || host.startsWith('/') ? {} : { servername: host }
}

function readNamed(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (thrown) {
    const { code = 'unreadable' } = thrown as NodeJS.ErrnoException
    throw refused(`${parameter}: cannot read ${path} (${code}). Name a PEM file that this user can read.`)
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('A "%" must be followed by two hex digits. Write "%25" for the character itself.')
  }
}

function refused(reason: string): Fault {
  return new Fault('malformed', `The address of the Postgres store cannot be used. ${reason}`, {
    code: 'INVALID_STORE',
  })
}
