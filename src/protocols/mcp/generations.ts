/** Determines the generation of a request, and checks the `_meta` of stateless requests. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { metaOf } from './asking/asked.ts'
import { mismatch } from './headers.ts'
import { type Generation, INITIALIZED_VERSIONS, META, STATELESS_VERSION } from './wire.ts'

/** Uses the header and the body's `_meta`. Refuses a stateless request whose header was lost on the way. */
export function generationByHeader(header: string | undefined, params: JsonObject): Generation {
  const sent = header?.trim()
  const said = metaOf({ params })[META.version]
  if (said === undefined) {
    if (sent === STATELESS_VERSION) return 'stateless'
    if (sent === undefined || INITIALIZED_VERSIONS.includes(sent)) return 'initialized'
    throw unsupportedVersion(sent)
  }
  if (sent !== said)
    throw mismatch('The header MCP-Protocol-Version differs from "_meta". Send the same version in both.')
  if (said !== STATELESS_VERSION) throw unsupportedVersion(sent)
  return 'stateless'
}

/** For carriers without headers. */
export function generationByBody(params: JsonObject): Generation {
  const said = metaOf({ params })[META.version]
  if (said === undefined) return 'initialized'
  if (said !== STATELESS_VERSION) throw unsupportedVersion(String(said))
  return 'stateless'
}

/** The server stores nothing between requests, so each request must contain the client's version and capabilities. */
export function checkMeta(params: JsonObject): void {
  const meta = metaOf({ params })
  if (typeof meta[META.version] !== 'string') throw missing(META.version)
  if (!isJsonObject(meta[META.capabilities])) throw missing(META.capabilities)
}

function missing(key: string): Fault {
  return new Fault('malformed', `"params._meta" needs "${key}" in every request.`, { code: 'META_MISSING' })
}

function unsupportedVersion(requested: string): Fault {
  const message = `This server does not support version "${requested.slice(0, 40)}". Use ${STATELESS_VERSION}, or start with initialize.`
  return new Fault('malformed', message, {
    code: 'UNSUPPORTED_VERSION',
    details: { supported: [STATELESS_VERSION], requested },
  })
}
