/** OAuth protected resource metadata (RFC 9728): other servers issue the tokens for this server. */

import type { Operation } from '../../core/operation/operation.ts'
import type { Catalog } from '../../core/ports/catalog.ts'
import type { Answer, Refuse, Route } from '../../core/ports/exchange.ts'
import { HEADERS, METADATA_PATH } from './calls/answers.ts'

export interface ProtectedResource {
  /** Issuers of accepted tokens. */
  issuers: readonly string[]
  name: string
  path: string
}

/** For clients that do not add the resource's path. */
const ROOT_PATH = '/.well-known/oauth-protected-resource'

export function createMetadataRoutes(
  resource: ProtectedResource,
  registry: Pick<Catalog, 'operations'>,
  refuse: Refuse,
): Route[] {
  let kept: { scopes: readonly string[]; of: readonly Operation[] } | undefined
  const scopes = () => {
    if (kept?.of !== registry.operations) kept = { scopes: scopesOf(registry.operations), of: registry.operations }
    return kept.scopes
  }
  const describe = (origin: string): Answer => ({
    status: 200,
    headers: HEADERS,
    body: JSON.stringify({
      resource: origin + resource.path,
      ...(resource.issuers.length > 0 && { authorization_servers: resource.issuers }),
      scopes_supported: scopes(),
      bearer_methods_supported: ['header'],
      resource_name: resource.name,
    }),
  })
  return [METADATA_PATH, ROOT_PATH].map((path) => ({
    path,
    refuse,
    methods: { GET: ({ origin }) => describe(origin) },
  }))
}

/** Returns the scopes of all operations that are not internal, so that clients request no others. */
function scopesOf(operations: readonly Operation[]): readonly string[] {
  const offered = operations.filter(({ internal }) => internal !== true)
  return [...new Set(offered.flatMap(({ scopes }) => scopes))].sort()
}
