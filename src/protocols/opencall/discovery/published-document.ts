/**
 * A document about all operations. Cached as bytes and rebuilt only when an operation is added, removed or
 * passes its sunset. Callers who may call internal operations also get those. All other callers get the same document.
 */

import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { canonicalJson, type JsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { hasScope } from '../../../core/operation/scopes.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'
import type { Answer, Exchange } from '../../../core/ports/exchange.ts'
import type { Identify } from '../../../core/ports/guard.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { acceptsEncoding, hasTag } from '../../../wire/http/representations.ts'

export interface PublishingParts {
  catalog: Catalog
  env: Environment
  identify: (exchange: Exchange) => Identify
}

/** The reader of a document. */
export interface Reader {
  now: number
  /** The internal operations that the reader may see. */
  internal: readonly Operation[]
  /** The path that the server is mounted below, such as `/api`. Empty at the root. */
  basePath: string
}

/** The text of a document, and what identifies it. */
export interface Rendered {
  text: string
  tag: string
}

interface Built {
  plain: Answer
  zipped: Answer
  etags: readonly string[]
  validUntil: number
  of: readonly Operation[]
}

/** Mount paths may have parameters, so that clients choose them. */
const MAX_CACHED = 50

export function createPublishedDocument(
  { catalog, env, identify }: PublishingParts,
  render: (reader: Reader) => Rendered,
): (exchange: Exchange) => Promise<Answer> {
  /** Keyed by the mount path and the internal operations in the document. Few different sets exist. */
  const built = new Map<string, Built>()
  return async (exchange) => {
    const now = env.clock.now()
    const internal = visibleTo(await callerOf(identify(exchange)), catalog.listInternal(now))
    const basePath = basePathOf(exchange.origin)
    const key = [basePath, ...internal.map((operation) => operation.key)].join(' ')
    let document = built.get(key)
    if (!document || document.of !== catalog.operations || now >= document.validUntil) {
      if (built.size >= MAX_CACHED) built.clear()
      document = build(render({ now, internal, basePath }), catalog, env, now, internal.length > 0)
      built.set(key, document)
    }
    const answer = acceptsEncoding(exchange.header('accept-encoding'), 'gzip') ? document.zipped : document.plain
    return hasTag(exchange.header('if-none-match'), document.etags) ? { status: 304, headers: answer.headers } : answer
  }
}

/** The document is public, so an invalid credential is treated like no credential. */
async function callerOf(identify: Identify): Promise<Caller | undefined> {
  try {
    return await identify()
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.kind === 'unauthenticated') return undefined
    throw thrown
  }
}

function visibleTo(caller: Caller | undefined, internal: readonly Operation[]): readonly Operation[] {
  if (!caller) return []
  const visible = internal.filter(({ scopes }) => scopes.every((scope) => hasScope(caller, scope)))
  // Those that need no scope are of interest to people who operate the server. Other callers' documents stay short.
  return visible.some(({ scopes }) => scopes.length > 0) ? visible : []
}

/** Not by `new URL`: it refuses some hosts that a client can send. */
function basePathOf(origin: string): string {
  return origin.replace(/^[^/]*\/\/[^/]*/, '').replace(/\/+$/, '')
}

/** The later revision, "Top-Level Fields": the hash is of the document without it, with sorted keys. */
export function withSchemaHash({ callVersion, ...rest }: { callVersion: string }, env: Environment): Rendered {
  const schemaHash = `sha256:${env.digest(canonicalJson({ callVersion, ...rest } as JsonObject))}`
  return { text: JSON.stringify({ callVersion, schemaHash, ...rest }), tag: schemaHash }
}

const FOR_EVERYBODY = { 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding' }
const FOR_ONE = { 'Cache-Control': 'private, no-cache', Vary: 'Accept-Encoding, Authorization' }

function build({ text, tag }: Rendered, catalog: Catalog, env: Environment, now: number, isForOne: boolean): Built {
  const headers = { 'Content-Type': 'application/json', ...(isForOne ? FOR_ONE : FOR_EVERYBODY) }
  const plainTag = `"${tag}"`
  const zippedTag = `"${tag}-gzip"`
  return {
    plain: { status: 200, headers: { ...headers, ETag: plainTag }, body: new TextEncoder().encode(text) },
    zipped: { status: 200, headers: { ...headers, ETag: zippedTag, 'Content-Encoding': 'gzip' }, body: env.gzip(text) },
    etags: [plainTag, zippedTag],
    validUntil: catalog.nextChangeAt(now) ?? Number.POSITIVE_INFINITY,
    of: catalog.operations,
  }
}
