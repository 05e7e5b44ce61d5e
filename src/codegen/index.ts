/** Files for callers, generated from the registry of a server. */
export type { Catalogue } from './catalogue.ts'
export { openApiText } from './openapi/openapi.ts'
export { readCatalogue } from './read-catalogue.ts'
export type { GeneratedFile, Target } from './target.ts'
export { TARGETS } from './targets.ts'
