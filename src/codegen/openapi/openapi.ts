/** `--openapi` and `/openapi.json`: an OpenAPI 3.1 document with a path for each operation, and the envelope. */
import type { JsonObject } from '../../core/json.ts'
import type { Catalogue, CatalogueOperation } from '../catalogue.ts'
import { object, oneOf, sharedSchemas } from '../documents/envelopes.ts'
import { jsonText } from '../documents/json-text.ts'
import { OperationSchemas, type SchemaNames } from '../documents/operation-schemas.ts'
import { reachable } from '../documents/reachable.ts'
import { FreeNames } from '../free-names.ts'
import { type CatalogueFacts, readCatalogue } from '../read-catalogue.ts'
import type { GeneratedFile } from '../target.ts'
import { CALLS_TAG, FIXED_IDS, fixedPaths } from './fixed-paths.ts'
import { FIXED_SCHEMAS, PARAMETERS } from './fixed-schemas.ts'
import { describeOperation, operationIdOf, pathOf, tagOf } from './operation-path.ts'
import { refer, sharedResponses } from './responses.ts'

const TICKET = {
  type: 'apiKey',
  in: 'header',
  name: 'Authorization',
  description: 'OTK and the ticket of the stream.',
}
/** Where `callplane serve` listens. */
const DEFAULT_URL = 'http://127.0.0.1:4747'

export function generateOpenApi(catalogue: Catalogue): GeneratedFile {
  return { path: 'openapi.json', text: jsonText(openApiDocument(catalogue)) }
}

/** From the document that a server returns at `/.well-known/ops`. */
export function openApiText(registry: unknown, facts: CatalogueFacts): string {
  return JSON.stringify(openApiDocument(readCatalogue(registry, facts)))
}

function openApiDocument({ title, version, url, callVersion, operations }: Catalogue): JsonObject {
  const all = new OperationSchemas({ ...sharedSchemas(refer), ...FIXED_SCHEMAS }, refer)
  const ids = new FreeNames(FIXED_IDS)
  const named = operations.map((operation) => ({ operation, names: all.add(operation) }))
  const calls = Object.fromEntries(named.map(({ operation, names }) => [operation.name, names.call]))
  const call = operations.length > 0 ? oneOf('op', calls, refer) : object({ op: { type: 'string' } }, ['op'])
  const frames = named.flatMap(({ names }) => names.frame ?? [])
  const paths = {
    ...operationPaths(named, ids),
    ...fixedPaths(refer('Call'), frames),
  }
  const schemas = { ...all.schemas, Call: call }
  const responses = sharedResponses()
  return {
    openapi: '3.1.1',
    info: {
      title,
      version,
      description: `Operations of an OpenCALL server, revision ${callVersion}. Each has a path of its own, and all are called by POST /call.`,
    },
    // A server without a public address is where the document is.
    servers: [{ url: url === '' ? '/' : (url ?? DEFAULT_URL) }],
    security: [{ bearer: [] }, { apiKey: [] }, {}],
    tags: tagsOf(operations),
    paths,
    components: {
      schemas: reachable([paths, responses], schemas, '#/components/schemas/'),
      responses,
      parameters: reachable(paths, PARAMETERS, '#/components/parameters/'),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        ...(frames.length > 0 && { ticket: TICKET }),
      },
    },
  }
}

function operationPaths(
  named: readonly { operation: CatalogueOperation; names: SchemaNames }[],
  ids: FreeNames,
): JsonObject {
  return Object.fromEntries(
    named.map(({ operation, names }) => [
      pathOf(operation),
      { post: describeOperation(operation, names, ids.take(operationIdOf(names))) },
    ]),
  )
}

function tagsOf(operations: readonly CatalogueOperation[]): JsonObject[] {
  const names = [...new Set(operations.map(tagOf))].filter((name) => name !== CALLS_TAG).sort()
  return [
    { name: CALLS_TAG, description: 'Calls of any operation, and what follows them.' },
    ...names.map((name) => ({ name, description: `Operations of ${name}.` })),
  ]
}
