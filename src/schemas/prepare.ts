/**
 * Turns the schemas of an operation, from any library, into the functions and the JSON Schema that the engine and the
 * registry use. Errors in a schema are reported here, at start. Validators are compiled on first use.
 */
import type { Fault } from '../core/fault.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { OperationDefinition, Parse, PreparedSchemas } from '../core/operation/operation.ts'
import type { PlainSchema } from '../core/operation/schema.ts'
import { costOf } from './bounds/cost.ts'
import { TooCostly } from './bounds/too-costly.ts'
import { checkSchema } from './check.ts'
import { compile, jsonSchemaValidator } from './compile.ts'
import {
  costlyInput,
  costlyResult,
  invalidFrame,
  invalidInput,
  invalidResult,
  type Validate,
  type Verdict,
} from './issues.ts'
import { findNonJson, findReservedKey } from './json-values.ts'
import { isBounded } from './patterns/index.ts'
import { publishPlain, type Side, standardPublisher } from './publish.ts'
import { isStandardSchema, standardValidator } from './standard.ts'

interface PreparedSide {
  validate: Validate
  publish(): JsonObject
}

/**
 * Called for a schema whose checks can take more than linear time: they are counted, or run under a time limit. Called
 * at start for JSON Schema, and at the first value for a library's schema.
 */
export type OnCostly = (side: Side, bound: 'counted' | 'timed', reason: string) => void

export function prepareSchemas(definition: OperationDefinition<never>, onCostly?: OnCostly): PreparedSchemas {
  const args = prepareSide(definition, 'args', onCostly)
  const result = prepareSide(definition, 'result', onCostly)
  // A handler without a return value gives null in JSON, while a library's void schema expects `undefined`.
  const voidIsNull = !isStandardSchema(definition.result)
  return {
    parseArgs: argsParser(definition.name, args.validate),
    parseResult: resultParser(definition.name, result.validate, voidIsNull),
    schemas: publishedOnce(args, result),
    ...(definition.frame && { frame: prepareFrame(definition, onCostly) }),
  }
}

function prepareFrame(
  definition: OperationDefinition<never>,
  onCostly?: OnCostly,
): NonNullable<PreparedSchemas['frame']> {
  const { validate, publish } = prepareSide(definition, 'frame', onCostly)
  let schema: JsonObject | undefined
  return {
    parse: resultParser(definition.name, validate, false, invalidFrame),
    get schema() {
      schema ??= publish()
      return schema
    },
  }
}

function prepareSide(definition: OperationDefinition<never>, side: Side, onCostly?: OnCostly): PreparedSide {
  const { name } = definition
  const tell = onCostly && ((reason: string) => onCostly(side, 'timed', reason))
  const schema = definition[side]
  const beside = definition.jsonSchema?.[side]
  if (beside) checkSchema(name, side, beside)
  const published = beside && publishPlain(beside)
  if (schema === undefined) {
    const open = side === 'args' ? { type: 'object' } : {}
    return { validate: side === 'args' ? requireObject : acceptAnything, publish: () => published ?? open }
  }
  if (isStandardSchema(schema)) {
    const publish = published ? () => published : standardPublisher(name, side, schema)
    const exported = published ? () => standardPublisher(name, side, schema, true)() : publish
    const validate = standardValidator({ operation: name, side, schema, exported, onCostly: tell })
    return { validate, publish }
  }
  const plain = preparePlain(name, side, schema)
  if (onCostly) tellCost(side, schema, onCostly)
  return { validate: plain, publish: () => published ?? publishPlain(schema) }
}

function preparePlain(operation: string, side: Side, schema: PlainSchema): Validate {
  const { hasDefaults, needsCompiling } = checkSchema(operation, side, schema)
  const subject = { operation, side, schema, hasDefaults }
  if (needsCompiling) compile(subject, 'malformed')
  return jsonSchemaValidator(subject)
}

function tellCost(side: Side, schema: PlainSchema, tell: OnCostly): void {
  const { multiplies, patterns } = costOf(schema)
  const unbounded = [...patterns].find((pattern) => !isBounded(pattern))
  if (unbounded !== undefined) tell(side, 'timed', `the pattern ${unbounded} has no time bound`)
  else if (multiplies) tell(side, 'counted', 'it contains itself, or its references multiply')
}

function argsParser(operation: string, validate: Validate): Parse {
  const settle = (verdict: Verdict): unknown => {
    if (verdict.issues) throw invalidInput(operation, verdict.issues)
    return verdict.value
  }
  return (value) => {
    const reserved = findReservedKey(value)
    if (reserved) throw invalidInput(operation, [reserved])
    const verdict = attempt(validate, value, () => costlyInput(operation))
    return verdict instanceof Promise ? verdict.then(settle) : settle(verdict)
  }
}

function resultParser(operation: string, validate: Validate, voidIsNull: boolean, refuse = invalidResult): Parse {
  const settle = (verdict: Verdict): unknown => {
    if (verdict.issues) throw refuse(operation, verdict.issues)
    const value = verdict.value === undefined ? null : verdict.value
    const problem = findNonJson(value)
    if (problem) throw refuse(operation, [problem])
    return value
  }
  return (value) => {
    const returned = value === undefined && voidIsNull ? null : value
    const verdict = attempt(validate, returned, () => costlyResult(operation))
    return verdict instanceof Promise ? verdict.then(settle) : settle(verdict)
  }
}

function attempt(validate: Validate, value: unknown, refusal: () => Fault): Verdict | Promise<Verdict> {
  try {
    return validate(value)
  } catch (thrown) {
    throw thrown instanceof TooCostly ? refusal() : thrown
  }
}

function publishedOnce(args: PreparedSide, result: PreparedSide): PreparedSchemas['schemas'] {
  let argsSchema: JsonObject | undefined
  let resultSchema: JsonObject | undefined
  return {
    get args() {
      argsSchema ??= args.publish()
      return argsSchema
    },
    get result() {
      resultSchema ??= result.publish()
      return resultSchema
    },
  }
}

const requireObject: Validate = (value) =>
  isJsonObject(value) ? { value } : { issues: [{ path: '', message: 'must be an object', keyword: 'type' }] }

const acceptAnything: Validate = (value) => ({ value })
