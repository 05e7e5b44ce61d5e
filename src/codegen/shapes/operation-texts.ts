/** Texts about operations that the clients of all languages have. */
import type { Catalogue, CatalogueOperation } from '../catalogue.ts'

export function deprecationText(
  name: string,
  { sunset, replacement }: NonNullable<CatalogueOperation['deprecated']>,
): string {
  const end = sunset === undefined ? '' : ` and ends on ${sunset}`
  return `${name} is deprecated${end}.${replacement === undefined ? '' : ` Use ${replacement} instead.`}`
}

/** What to do about each error code, if the registry says it. Sorted. */
export function knownRemedies({ operations }: Catalogue): (readonly [code: string, remedy: string])[] {
  const known = operations.flatMap(({ errors }) => errors)
  const told = new Map(known.flatMap(({ code, remedy }) => (remedy === undefined ? [] : [[code, remedy] as const])))
  return [...told].sort(([one], [other]) => (one < other ? -1 : 1))
}
