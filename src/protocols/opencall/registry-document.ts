/** `/.well-known/ops`: built once, kept as bytes, and built anew only when an operation passes its sunset. */
import type { Answer, Exchange } from '../../core/exchange.ts'
import type { Environment } from '../../core/ports.ts'
import type { Registry } from '../../core/registry.ts'
import { encodeOperation } from './codec.ts'
import { CALL_VERSION, type RegistryEntry } from './wire.ts'

export interface RegistryDocument {
  callVersion: string
  operations: RegistryEntry[]
}

interface Built {
  plain: Answer
  zipped: Answer
  etags: readonly string[]
  validUntil: number
}

export function createRegistryDocument(registry: Registry, env: Environment): (exchange: Exchange) => Answer {
  let built: Built | undefined
  return (exchange) => {
    const now = env.clock.now()
    if (!built || now >= built.validUntil) built = build(registry, env, now)
    const zipped = /\bgzip\b/i.test(exchange.header('accept-encoding') ?? '')
    const answer = zipped ? built.zipped : built.plain
    return isKnown(exchange.header('if-none-match'), built.etags) ? { status: 304, headers: answer.headers } : answer
  }
}

export function encodeRegistry(registry: Registry, now: number): RegistryDocument {
  return { callVersion: CALL_VERSION, operations: registry.list(now).map(encodeOperation) }
}

function build(registry: Registry, env: Environment, now: number): Built {
  const text = JSON.stringify(encodeRegistry(registry, now))
  const hash = env.digest(text).slice(0, 32)
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding' }
  const plainTag = `"${hash}"`
  const zippedTag = `"${hash}-gzip"`
  return {
    plain: { status: 200, headers: { ...headers, ETag: plainTag }, body: new TextEncoder().encode(text) },
    zipped: { status: 200, headers: { ...headers, ETag: zippedTag, 'Content-Encoding': 'gzip' }, body: env.gzip(text) },
    etags: [plainTag, zippedTag],
    validUntil: registry.nextChangeAt(now) ?? Number.POSITIVE_INFINITY,
  }
}

function isKnown(header: string | undefined, etags: readonly string[]): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => etags.includes(tag.trim().replace(/^W\//, '')))
}
