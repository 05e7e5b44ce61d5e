/** The operations with roles in the checks, and how to call them. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import { type InvalidArguments, invalidArguments, sampleArguments } from '../samples/samples.ts'
import { must, should, shown } from './assertions.ts'
import { type Example, NotApplicable, type Parts, Skip, type Target } from './case.ts'
import { createSchemaCheck } from './schema-check.ts'

export interface Part {
  /** Name in the protocol. */
  op: string
  args: JsonObject
  example: Partial<Example>
  argsSchema: JsonValue | undefined
  resultSchema: JsonValue | undefined
}

const KINDS: Readonly<Record<keyof Parts, string>> = {
  sync: 'sync operation without side effects',
  second: 'second sync operation without side effects',
  validated: 'operation whose schema rejects some arguments',
  lenient: 'sync operation that can be called without arguments',
  failing: 'operation that is known to fail in its domain',
  async: 'async operation',
  stream: 'stream without side effects',
  chunked: 'operation with a chunked result',
  file: 'operation whose result is a file',
  upload: 'operation that takes an attachment',
  effect: 'sync operation with side effects',
  deprecated: 'deprecated operation before its sunset',
  removed: 'operation past its sunset',
  successor: 'operation in a version above 1',
  versions: 'operation with several versions',
}

/** Returns the name of the operation with a role, or throws with the reason why there is none. */
export function nameOf(target: Target, part: keyof Parts): string {
  const name = target.operations?.[part]
  if (name !== undefined) return name
  const { applicable, reason } = target.vacancies?.[part] ?? {
    applicable: false,
    reason: `The server has no ${KINDS[part]}.`,
  }
  if (!applicable) throw new NotApplicable(reason)
  throw new Skip(reason, needsOf(reason))
}

/** Returns the option that would fill a vacancy. The report groups vacancies by option. */
function needsOf(reason: string): string | undefined {
  return /--[a-z-]+/.exec(reason)?.[0]
}

export function describePart(
  target: Target,
  op: string,
  schemas: { args?: JsonValue | undefined; result?: JsonValue | undefined },
): Part {
  const example: Partial<Example> = target.examples?.[op] ?? {}
  const args = (example.args as JsonObject | undefined) ?? sampleArguments(schemas.args)
  return { op, args, example, argsSchema: schemas.args, resultSchema: schemas.result }
}

/** Arguments that break the schema of an operation, with the name of the invalid one. */
export function refusedArguments({ argsSchema, args, op }: Part): InvalidArguments[] {
  const found = invalidArguments(argsSchema, args)
  if (found.length === 0) throw new NotApplicable(`The schema of ${op} rejects no arguments.`)
  return found
}

const checkResult = createSchemaCheck()

/** Checks the exact result if it is known; otherwise, that it matches the published schema. */
export function mustFit({ op, example, resultSchema }: Part, result: unknown): void {
  if ('result' in example) {
    must(
      isDeepStrictEqual(result, example.result),
      () => `The result of ${op} is ${shown(result)}, not ${shown(example.result)}.`,
    )
    return
  }
  const [issue] = checkResult(resultSchema, result)
  // The registry's cases report a schema that cannot be compiled.
  if (issue === undefined || issue.keyword === 'schema') return
  should(false, `The result of ${op} does not match its schema: ${issue.path || '/'} ${issue.message}.`)
}

/** Skips the case if there is no second token, for checks of isolation. */
export function requireOtherToken({ token, otherToken }: Target): void {
  if (token === undefined) throw new Skip('Without a token there is only one caller.', '--token')
  if (otherToken === undefined) throw new Skip('This check needs the token of a second caller.', '--other-token')
}

export function requireToken({ token }: Target): string {
  if (token === undefined) throw new Skip('Without a token, authentication cannot be checked.', '--token')
  return token
}
