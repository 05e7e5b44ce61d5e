/** Files for callers, generated from the registry of a server. */
export type { Catalogue, CatalogueError, CatalogueOperation } from './catalogue.ts'
export { openApiText } from './openapi/openapi.ts'
export { type CatalogueFacts, readCatalogue } from './read-catalogue.ts'
export type { GeneratedFile, Target } from './target.ts'
export { TARGETS, type TargetEntry } from './targets.ts'
