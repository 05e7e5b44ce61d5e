/** Security schemes become `auth`, which names a secret. A document never contains the secret itself. */
import { isObject, type Json, type JsonObject, listAt, member, objectAt, textAt } from './json.ts'
import { quoted, type References } from './references.ts'
import { Unmappable } from './unmappable.ts'

export interface Auth {
  readonly profile: 'bearer' | 'api_key_header' | 'basic' | 'oauth2_client_credentials'
  readonly secretRef: string
  readonly headerName?: string
  readonly tokenURL?: string
  readonly scopes?: readonly string[]
}

export interface SecuritySource {
  readonly document: JsonObject
  readonly file: string
  readonly references: References
  readonly namespace: string
  /** Addresses in the document are relative to it. */
  readonly server: string
}

/** Of several ways the first that can be used is chosen. `undefined`: the operation needs no credential. */
export function mapSecurity(operation: JsonObject, source: SecuritySource): Auth | undefined {
  const own = member(operation, 'security') ?? member(source.document, 'security')
  const ways = Array.isArray(own) ? own.filter(isObject) : []
  if (ways.length === 0) return undefined
  const problems: string[] = []
  for (const way of ways) {
    const schemes = Object.keys(way)
    try {
      if (schemes.length === 0) return undefined
      if (schemes.length > 1)
        throw new Unmappable(`it needs several credentials at once: ${schemes.join(', ').slice(0, 80)}`)
      return authOf(schemes[0] as string, listAt(way, schemes[0] as string), source)
    } catch (thrown) {
      if (!(thrown instanceof Unmappable)) throw thrown
      problems.push(thrown.message)
    }
  }
  throw new Unmappable(problems.join('; '))
}

function authOf(
  name: string,
  scopes: readonly Json[],
  { document, file, references, namespace, server }: SecuritySource,
): Auth {
  const schemes = objectAt(objectAt(document, 'components'), 'securitySchemes')
  const { value } = references.follow(member(schemes, name), file)
  const secretRef = `${namespace}-${name}`.replaceAll(/[^\w.-]+/g, '-').slice(0, 80)
  const type = textAt(value, 'type')
  if (type === 'apiKey') {
    const headerName = textAt(value, 'name') ?? ''
    const place = textAt(value, 'in')
    if (place !== 'header')
      throw new Unmappable(`its key is sent in the ${place ?? 'request'}, and only headers can have credentials`)
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(headerName))
      throw new Unmappable(`its key is sent in the header ${quoted(headerName)}`)
    return { profile: 'api_key_header', secretRef, headerName }
  }
  if (type === 'http') {
    const scheme = textAt(value, 'scheme')?.toLowerCase()
    if (scheme === 'bearer' || scheme === 'basic') return { profile: scheme, secretRef }
    throw new Unmappable(`it uses the HTTP authentication ${quoted(scheme ?? '')}`)
  }
  if (type === 'oauth2') return clientCredentials(value, scopes, secretRef, server) ?? { profile: 'bearer', secretRef }
  // An access token that the operator fetches is kept as a secret.
  if (type === 'openIdConnect') return { profile: 'bearer', secretRef }
  throw new Unmappable(`its security scheme ${quoted(name)} is ${type === undefined ? 'not defined' : quoted(type)}`)
}

function clientCredentials(
  scheme: Json | undefined,
  scopes: readonly Json[],
  secretRef: string,
  server: string,
): Auth | undefined {
  const given = textAt(objectAt(objectAt(scheme, 'flows'), 'clientCredentials'), 'tokenUrl')
  const tokenURL = given === undefined ? undefined : URL.parse(given, server)
  if (!tokenURL || !/^https?:$/.test(tokenURL.protocol)) return undefined
  const wanted = scopes.filter((scope) => typeof scope === 'string')
  return {
    profile: 'oauth2_client_credentials',
    secretRef,
    tokenURL: tokenURL.href,
    ...(wanted.length > 0 && { scopes: wanted }),
  }
}
