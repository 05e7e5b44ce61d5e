/**
 * `/.well-known/ops`, and documents made from it. Cached as bytes and rebuilt only when an operation is added, removed or passes its sunset.
 * Callers who may call internal operations also get those. All other callers get the same document.
 */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { hasScope } from '../../core/operation/scopes.ts'
import type { Catalog } from '../../core/ports/catalog.ts'
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import type { Identify } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import { encodeOperation, encodeTombstone } from './codec.ts'
import { CALL_VERSION, type RegistryEntry, type TombstoneEntry } from './wire.ts'

export interface RegistryDocument {
  callVersion: string
  operations: (RegistryEntry | TombstoneEntry)[]
}

interface Built {
  plain: Answer
  zipped: Answer
  etags: readonly string[]
  validUntil: number
  of: readonly Operation[]
}

export function createRegistryDocument(
  registry: Catalog,
  env: Environment,
  identify: (exchange: Exchange) => Identify,
  listed: { listRemoved: boolean; transports: readonly string[] },
  render: (document: RegistryDocument) => string = JSON.stringify,
): (exchange: Exchange) => Promise<Answer> {
  /** Keyed by the internal operations in the document. Few different sets exist. */
  const built = new Map<string, Built>()
  return async (exchange) => {
    const now = env.clock.now()
    const internal = visibleTo(await callerOf(identify(exchange)), registry.listInternal(now))
    const key = internal.map((operation) => operation.key).join(' ')
    let document = built.get(key)
    if (!document || document.of !== registry.operations || now >= document.validUntil) {
      const text = render(encodeRegistry(registry, now, { internal, ...listed }))
      document = build(text, registry, env, now, internal.length > 0)
      built.set(key, document)
    }
    const answer = acceptsGzip(exchange.header('accept-encoding')) ? document.zipped : document.plain
    return isKnown(exchange.header('if-none-match'), document.etags) ? { status: 304, headers: answer.headers } : answer
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
  return internal.filter(({ scopes }) => scopes.every((scope) => hasScope(caller, scope)))
}

interface ListedOptions {
  internal?: readonly Operation[]
  listRemoved?: boolean
  /** The transports of streams on this server. */
  transports?: readonly string[]
}

export function encodeRegistry(
  registry: Catalog,
  now: number,
  { internal = [], listRemoved = false, transports = [] }: ListedOptions = {},
): RegistryDocument {
  const operations = [...registry.list(now), ...internal].map((operation) => encodeOperation(operation, transports))
  if (!listRemoved) return { callVersion: CALL_VERSION, operations }
  return { callVersion: CALL_VERSION, operations: [...operations, ...registry.listRemoved(now).map(encodeTombstone)] }
}

const FOR_EVERYBODY = { 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding' }
const FOR_ONE = { 'Cache-Control': 'private, no-cache', Vary: 'Accept-Encoding, Authorization' }

function build(text: string, registry: Catalog, env: Environment, now: number, isForOne: boolean): Built {
  const hash = env.digest(text).slice(0, 32)
  const headers = { 'Content-Type': 'application/json', ...(isForOne ? FOR_ONE : FOR_EVERYBODY) }
  const plainTag = `"${hash}"`
  const zippedTag = `"${hash}-gzip"`
  return {
    plain: { status: 200, headers: { ...headers, ETag: plainTag }, body: new TextEncoder().encode(text) },
    zipped: { status: 200, headers: { ...headers, ETag: zippedTag, 'Content-Encoding': 'gzip' }, body: env.gzip(text) },
    etags: [plainTag, zippedTag],
    validUntil: registry.nextChangeAt(now) ?? Number.POSITIVE_INFINITY,
    of: registry.operations,
  }
}

/** RFC 9110, "Accept-Encoding": a weight of 0 refuses the encoding. */
function acceptsGzip(header = ''): boolean {
  const gzip = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=([\d.]{1,5})\s*)?(?:,|$)/i.exec(header)
  return gzip !== null && Number(gzip[1] ?? 1) > 0
}

function isKnown(header: string | undefined, etags: readonly string[]): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => etags.includes(tag.trim().replace(/^W\//, '')))
}
