/** MCP resources: the registry, results that are too large for their response, and the application's own. */

import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Catalog } from '../../core/ports/catalog.ts'
import { type Asked, textParam } from './asking/asked.ts'
import { type LocateParts, RESULT_URI, readResult } from './located.ts'
import { type Caching, LIST_TTL_MS, withCaching } from './tools/list.ts'
import type { OfferedResources } from './tools/offers.ts'
import type { ResourceContents } from './wire.ts'

export interface ResourceParts extends LocateParts {
  catalog: Pick<Catalog, 'operations' | 'nextChangeAt'>
  /** Returns the registry document without internal operations. */
  describe: (now: number) => object
  cacheScope: Caching['cacheScope']
  clock: { now(): number }
  /** The application's own resources. */
  offered: OfferedResources
}

export const REGISTRY_URI = 'callplane://registry'

const RESOURCES = [
  {
    uri: REGISTRY_URI,
    name: 'registry',
    title: 'All operations',
    description: 'Every operation of this server with its schemas, as in /.well-known/ops of OpenCALL.',
    mimeType: 'application/json',
  },
]

const TEMPLATES = [
  {
    uriTemplate: `${RESULT_URI}{requestId}`,
    name: 'result',
    title: 'A large result',
    description: 'A result that was too large for the response to its call. That response contains a link to it.',
  },
]

export class Resources {
  readonly #parts: ResourceParts
  #kept: { text: string; of: readonly Operation[]; validUntil: number } | undefined

  constructor(parts: ResourceParts) {
    this.#parts = parts
  }

  list({ generation }: Asked): object {
    const { offered, cacheScope } = this.#parts
    return withCaching({ resources: [...RESOURCES, ...offered.listed] }, generation, cacheScope)
  }

  templates({ generation }: Asked): object {
    const { offered, cacheScope } = this.#parts
    return withCaching({ resourceTemplates: [...TEMPLATES, ...offered.templates] }, generation, cacheScope)
  }

  async read(asked: Asked): Promise<object> {
    const uri = textParam(asked, 'uri')
    const { generation, client } = asked
    if (uri === REGISTRY_URI) {
      const contents = [{ uri, mimeType: 'application/json', text: this.#registryText() }]
      return withCaching({ contents }, generation, this.#parts.cacheScope)
    }
    if (!uri.startsWith(RESULT_URI)) {
      const contents = await this.#readOffered(uri, asked)
      return withCaching({ contents: [contents] }, generation, this.#parts.cacheScope)
    }
    try {
      const contents = [await readResult(asked.caller, uri, client.origin, this.#parts)]
      return withCaching({ contents }, generation, 'private', LIST_TTL_MS)
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'not-found') throw unknownResource(uri)
      throw thrown
    }
  }

  async #readOffered(uri: string, { caller }: Asked): Promise<ResourceContents> {
    const found = caller && (await this.#parts.offered.read(uri, caller))
    if (!found) throw unknownResource(uri)
    return found
  }

  #registryText(): string {
    const { catalog, describe, clock } = this.#parts
    const now = clock.now()
    if (this.#kept && this.#kept.of === catalog.operations && now < this.#kept.validUntil) return this.#kept.text
    const text = JSON.stringify(describe(now))
    const validUntil = catalog.nextChangeAt(now) ?? Number.POSITIVE_INFINITY
    this.#kept = { text, of: catalog.operations, validUntil }
    return text
  }
}

function unknownResource(uri: string): Fault {
  const message = `There is no resource "${uri.slice(0, 200)}", or it has expired. Use resources/list to see all resources.`
  return new Fault('malformed', message, { code: 'UNKNOWN_RESOURCE', details: { uri } })
}
