/** Turns one declared tool into an operation, as `operation(name, { …, backend, auth })` does in TypeScript. */

import { completeOperation } from '../../core/operation/defaults.ts'
import { type OperationOptions, operation } from '../../core/operation/define.ts'
import { parseName } from '../../core/operation/names.ts'
import type { BackendSpec, OperationDefinition, PreparedSchemas } from '../../core/operation/operation.ts'
import type { PlainSchema } from '../../core/operation/schema.ts'
import { prepareSchemas } from '../../schemas/index.ts'
import { attempt, type Source } from './entry.ts'
import { OPERATION } from './fields.ts'
import { isObject, type LocatedObject, placeAt } from './located.ts'
import type { Place, Problems } from './problems.ts'
import { quoted } from './read.ts'
import { checkFields, guess } from './shapes.ts'

export interface DeclaredOperation extends OperationDefinition {
  readonly backend: BackendSpec
  /** Base of relative paths in the backend's settings. */
  readonly folder: string
}

export interface PlacedOperation {
  definition: DeclaredOperation
  /** Registry key. */
  key: string
  place: Place
}

type Declared = OperationOptions<PlainSchema, PlainSchema, unknown> & { operation: string; backend: BackendSpec }

const ABSENT: Record<string, string> = {
  media: 'A declared tool takes no attachments. Write the operation in TypeScript, with run.',
  chunked: 'The result of a declared tool is JSON. Write the operation in TypeScript, with run.',
  run: 'A declared tool is run by its backend. Leave run out, or write the operation in TypeScript.',
}

const REQUIRED = { backend: 'Name its backend, such as backend: { kind: http, endpoint: https://tools.example/run }.' }

/** `undefined` if the declaration has a problem. */
export function parseOperation(entry: LocatedObject, source: Source): PlacedOperation | undefined {
  const { problems, folder } = source
  const before = problems.count
  const advice = (name: string) => (Object.hasOwn(ABSENT, name) ? ABSENT[name] : undefined)
  checkFields(entry, '', OPERATION, { required: REQUIRED, advice }, problems)
  checkBackend(entry, source)
  const schemas = (['args', 'result'] as const).map((side) => checkSchema(entry, side, problems))
  // Rules across fields are checked only if each field is valid.
  if (problems.count > before) return undefined
  const { operation: name, ...options } = entry.value as unknown as Declared
  const { backend } = options
  const traits = source.checks[backend.kind]?.traits ?? { kind: backend.kind }
  const definition = operation(name, options)
  const complete = attempt(entry, problems, () =>
    completeOperation(definition, schemas[0] as PreparedSchemas, { ...traits, execute: () => undefined }),
  )
  if (!complete) return undefined
  const place = placeAt(entry, ['operation'])
  return { definition: { ...definition, backend, folder }, key: complete.key, place }
}

/** Checks one side at a time, so that a mistake in one does not hide a mistake in the other. */
function checkSchema(entry: LocatedObject, side: 'args' | 'result', problems: Problems): PreparedSchemas | undefined {
  const given = entry.fields.get(side)?.content
  if (given && !isObject(given)) return undefined
  const name = String(entry.fields.get('operation')?.content.value)
  const schema = given && { [side]: given.value as PlainSchema }
  return attempt(entry, problems, () => prepareSchemas({ name, rules: {}, ...schema }))
}

/** Checks the kind. The backend of that kind checks the other settings. */
function checkBackend(entry: LocatedObject, { checks, problems }: Source): void {
  const backend = entry.fields.get('backend')?.content
  if (!backend?.fields) return
  const { kind } = backend.value as Partial<BackendSpec>
  const check = typeof kind === 'string' && Object.hasOwn(checks, kind) ? checks[kind] : undefined
  const parse = check?.parse
  if (parse) {
    attempt(entry, problems, () => parse(backend.value as BackendSpec))
    return
  }
  const kinds = Object.keys(checks).filter((name) => checks[name]?.parse)
  const place = placeAt(backend, ['kind'])
  const list = `Write one of ${kinds.join(', ')}.`
  if (kind === undefined) problems.add(place, `backend.kind is missing. ${list}`)
  else if (check?.traits.insteadOfBackend) problems.add(place, check.traits.insteadOfBackend)
  else problems.add(place, `backend.kind is ${quoted(String(kind))}. ${list}${guess(kind, kinds)}`)
}

/** The registry key of an operation that a module exports. */
export function keyOf({ name, rules }: OperationDefinition): string {
  return `${name}@${rules.version ?? `${parseName(name).major}.0.0`}`
}
