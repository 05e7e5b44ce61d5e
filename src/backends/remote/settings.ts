/** Parses and checks the settings shared by all backends whose tool has a URL. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'

export interface RemoteSettings {
  readonly endpoint: string
  /** True if the tool may be in a private network or on this machine. */
  readonly allowPrivate: boolean
  /** Maximum size of a response. */
  readonly maxBytes: number
  /** Sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

const COMMON = ['kind', 'endpoint', 'allowPrivate', 'maxBytes', 'headers']

/** Headers that a declaration must not set: credentials belong in `auth`, and the connection sets the others. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
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

export function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.has(name.toLowerCase())
}

/** `more` names the additional settings of one kind. Any other setting is refused, because it would be ignored. */
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
    `backend.${unknown} is not a setting of a backend of kind ${spec.kind}. Its settings are ${names}.`,
  )
}

/** Returns the setting, or `undefined` if it is absent. `write` describes a valid value. */
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
    throw new Fault(
      'policy-invalid',
      'backend.endpoint must not contain a user name or password; declare "auth" instead.',
    )
  }
  if (url.hash !== '')
    throw new Fault('policy-invalid', 'backend.endpoint must not have a fragment; leave out the "#".')
  return url.href
}

function headersIn(value: unknown = {}): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('policy-invalid', 'backend.headers must map names to texts, such as { Accept: text/plain }.')
  }
  const headers: Record<string, string> = {}
  for (const [name, text] of Object.entries(value)) {
    const lower = name.toLowerCase()
    if (isReservedHeader(name)) {
      throw new Fault(
        'policy-invalid',
        `backend.headers.${name} cannot be set here; credentials are declared in "auth".`,
      )
    }
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || typeof text !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
      throw new Fault(
        'policy-invalid',
        `backend.headers.${name} is not a valid header; write a name and a text on one line.`,
      )
    }
    headers[lower] = text
  }
  return headers
}
