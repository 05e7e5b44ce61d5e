/** The settings that all backends have in common whose tool is reached by URL, read from a declaration and checked. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation.ts'

export interface RemoteSettings {
  readonly endpoint: string
  /** The tool may be in a private network or on this machine. */
  readonly allowPrivate: boolean
  /** Of an answer. */
  readonly maxBytes: number
  /** Sent with every request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

const COMMON = ['kind', 'endpoint', 'allowPrivate', 'maxBytes', 'headers']

/** What a header of a declaration must not say: who we are is declared in `auth`, the rest is the connection's own. */
const RESERVED: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'x-tool-contract-version',
  'x-request-id',
])

/** `more` names the settings that one kind has besides these: any other is refused, for it would be ignored. */
export function parseRemoteSettings(spec: BackendSpec, maxBytes: number, more: readonly string[] = []): RemoteSettings {
  refuseUnknown(spec, [...COMMON, ...more])
  return {
    endpoint: endpointIn(spec),
    allowPrivate: optional(spec, 'allowPrivate', isBoolean, 'true or false') ?? false,
    maxBytes: optional(spec, 'maxBytes', isPositive, 'a number of bytes, such as 1048576') ?? maxBytes,
    headers: headersIn(spec.headers),
  }
}

export function refuseUnknown(spec: BackendSpec, known: readonly string[]): void {
  const unknown = Object.keys(spec).find((name) => !known.includes(name))
  if (unknown === undefined) return
  const names = known.filter((name) => name !== 'kind').join(', ')
  throw new Fault(
    'policy-invalid',
    `backend.${unknown} is not known to a backend of kind ${spec.kind}; it has ${names}.`,
  )
}

/** The setting if it is there and fits; `write` says what fits. */
export function optional<T>(
  spec: BackendSpec,
  name: string,
  fits: (value: unknown) => value is T,
  write: string,
): T | undefined {
  const value = spec[name]
  if (value === undefined) return undefined
  if (fits(value)) return value
  throw new Fault('policy-invalid', `backend.${name} must be ${write}.`)
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

export function isPositive(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function endpointIn({ endpoint }: BackendSpec): string {
  const url = isText(endpoint) ? URL.parse(endpoint) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new Fault(
      'policy-invalid',
      'backend.endpoint must be the URL of the tool, such as https://tools.example/run.',
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new Fault('policy-invalid', 'backend.endpoint must not hold a user name or password; declare "auth" instead.')
  }
  if (url.hash !== '')
    throw new Fault('policy-invalid', 'backend.endpoint must not have a fragment; leave out the "#".')
  return url.href
}

function headersIn(value: unknown = {}): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('policy-invalid', 'backend.headers must be names with texts, such as { Accept: text/plain }.')
  }
  const headers: Record<string, string> = {}
  for (const [name, text] of Object.entries(value)) {
    const lower = name.toLowerCase()
    if (RESERVED.has(lower)) {
      throw new Fault(
        'policy-invalid',
        `backend.headers.${name} cannot be set here; credentials are declared in "auth".`,
      )
    }
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || typeof text !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
      throw new Fault('policy-invalid', `backend.headers.${name} is no header; write a name and a text on one line.`)
    }
    headers[lower] = text
  }
  return headers
}
