/** Which generation a request is of, and what the stateless one must say of itself. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { metaOf } from './asking/asked.ts'
import { mismatch } from './headers.ts'
import { type Generation, INITIALIZED_VERSIONS, META, STATELESS_VERSION } from './wire.ts'

/** By the header, or by what the body says of itself: a stateless client whose header was lost is told so. */
export function generationByHeader(header: string | undefined, params: JsonObject): Generation {
  const sent = header?.trim()
  const said = metaOf({ params })[META.version]
  if (said === undefined) {
    if (sent === STATELESS_VERSION) return 'stateless'
    if (sent === undefined || INITIALIZED_VERSIONS.includes(sent)) return 'initialized'
    throw unsupportedVersion(sent)
  }
  if (sent !== said) throw mismatch('The header MCP-Protocol-Version is not what "_meta" says. Send the same in both.')
  if (said !== STATELESS_VERSION) throw unsupportedVersion(sent)
  return 'stateless'
}

/** Where there are no headers. */
export function generationByBody(params: JsonObject): Generation {
  const said = metaOf({ params })[META.version]
  if (said === undefined) return 'initialized'
  if (said !== STATELESS_VERSION) throw unsupportedVersion(String(said))
  return 'stateless'
}

/** Nothing is remembered from one request to the next, so each says what its client speaks and can do. */
export function checkMeta(params: JsonObject): void {
  const meta = metaOf({ params })
  if (typeof meta[META.version] !== 'string') throw missing(META.version)
  if (!isJsonObject(meta[META.capabilities])) throw missing(META.capabilities)
}

function missing(key: string): Fault {
  return new Fault('malformed', `"params._meta" needs "${key}" in every request.`, { code: 'META_MISSING' })
}

function unsupportedVersion(requested: string): Fault {
  const message = `This server does not speak "${requested.slice(0, 40)}". Use ${STATELESS_VERSION}, or begin with initialize.`
  return new Fault('malformed', message, {
    code: 'UNSUPPORTED_VERSION',
    details: { supported: [STATELESS_VERSION], requested },
  })
}
