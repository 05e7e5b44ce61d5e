/** The targets, by the option of `callplane generate` that selects each. */
import { generateAsyncApi } from './asyncapi/asyncapi.ts'
import { generateJsonSchema } from './documents/json-schema.ts'
import { generateGo } from './go/generate.ts'
import { generateOpenApi } from './openapi/openapi.ts'
import { generatePython } from './python/generate.ts'
import type { Target } from './target.ts'
import { generateTypes } from './typescript/types.ts'

export interface TargetEntry {
  /** For the help of the command. */
  readonly summary: string
  readonly target: Target
}

export const TARGETS: Readonly<Record<string, TargetEntry>> = {
  types: { summary: 'TypeScript types for createClient<Operations>.', target: generateTypes },
  openapi: { summary: 'An OpenAPI 3.1 document.', target: generateOpenApi },
  asyncapi: { summary: 'An AsyncAPI 3.0 document of streams, MQTT and Kafka.', target: generateAsyncApi },
  'json-schema': { summary: 'All schemas as one JSON Schema document.', target: generateJsonSchema },
  python: {
    summary: 'A client for Python 3.11 and newer: one file, standard library only.',
    target: generatePython,
  },
  go: { summary: 'A client for Go 1.19 and newer: one file, standard library only.', target: generateGo },
}
