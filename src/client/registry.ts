/** The registry of the server, cached. OpenCALL, "Self-Description Endpoint": asked again with `If-None-Match`. */

import { CallFault } from './fault.ts'
import { readText } from './http/envelope.ts'
import type { Fetcher } from './transport.ts'

/** What the client knows of an entry; all other fields are there, too. */
export interface RegistryEntry {
  readonly op: string
  readonly executionModel?: string
  readonly deprecated?: boolean
  readonly replacement?: string
  readonly [field: string]: unknown
}

export interface Registry {
  readonly callVersion: string
  readonly operations: readonly RegistryEntry[]
}

const MAX_BYTES = 64 * 1024 * 1024

export function createRegistryReader(fetcher: Fetcher): (signal?: AbortSignal) => Promise<Registry> {
  let known: { tag: string | null; registry: Registry } | undefined
  return async (signal) => {
    const headers = known?.tag ? { 'if-none-match': known.tag } : {}
    const response = await fetcher.fetch(fetcher.resolve(`${fetcher.base}/.well-known/ops`), { headers, signal })
    if (response.status === 304 && known) return known.registry
    const registry = parseRegistry(await readText(response, MAX_BYTES, signal))
    if (!response.ok || !registry)
      throw new CallFault('NOT_OPENCALL', 'The server has no registry of OpenCALL. Is the address right?', {
        status: response.status,
      })
    known = { tag: response.headers.get('etag'), registry }
    return registry
  }
}

function parseRegistry(text: string): Registry | undefined {
  try {
    const value = JSON.parse(text) as Registry | null
    return Array.isArray(value?.operations) ? value : undefined
  } catch {
    return undefined
  }
}
