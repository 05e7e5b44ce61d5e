/**
 * Tells callers of a deprecated operation so in headers, because they may never read the registry: `Deprecation`
 * (RFC 9745), `Sunset` (RFC 8594) and the replacement as a link.
 */
import type { Operation } from '../../../core/operation/operation.ts'
import type { Catalog } from '../../../core/ports/catalog.ts'

export class Deprecations {
  readonly #catalog: Pick<Catalog, 'operations'>
  #of: readonly Operation[] = []
  #headers = new Map<string, Record<string, string>>()

  constructor(catalog: Pick<Catalog, 'operations'>) {
    this.#catalog = catalog
  }

  /** `undefined` if the operation is not deprecated. `op` is the name that the caller used. */
  headersOf(op: string): Record<string, string> | undefined {
    const { operations } = this.#catalog
    if (operations !== this.#of) {
      this.#of = operations
      this.#headers = new Map(operations.flatMap(entriesOf))
    }
    return this.#headers.size === 0 ? undefined : this.#headers.get(op)
  }
}

function entriesOf({ name, key, deprecated }: Operation): [name: string, headers: Record<string, string>][] {
  if (!deprecated) return []
  const { sunset, replacement } = deprecated
  const headers = {
    // Since when is not known, and a date in the past means: now.
    Deprecation: '@0',
    ...(sunset !== undefined && { Sunset: new Date(`${sunset}T23:59:59Z`).toUTCString() }),
    ...(replacement !== undefined && { Link: `</.well-known/ops#${replacement}>; rel="successor-version"` }),
  }
  return [
    [name.full, headers],
    [key, headers],
  ]
}
