/**
 * The fields of a declaration, the same as in TypeScript. They are records over the types of core, so that a new rule
 * does not compile until it is named here.
 */
import type { AuthBinding } from '../../core/operation/credential.ts'
import { sunsetOf } from '../../core/operation/defaults.ts'
import { parseName, parseVersion } from '../../core/operation/names.ts'
import type { AuthorizationNeed, Requirements } from '../../core/operation/requirements.ts'
import { type DeclaredError, type OperationRules, type RetryRules, RISKS } from '../../core/operation/rules.ts'
import { flag, listOf, mapOf, object, oneOf, parsed, record, type Shape, text, whole, wholeOrZero } from './shapes.ts'

type Shapes<T> = Record<keyof T, Shape>

/**
 * A remote tool takes and returns JSON: attachments and chunks need a function in this process. A declared operation is
 * always a tool, so it cannot be internal.
 */
type DeclaredRules = Omit<OperationRules, 'media' | 'chunked' | 'internal' | 'slotless'>

const RETRY: Shapes<RetryRules> = {
  attempts: whole,
  backoffMs: wholeOrZero,
  maxBackoffMs: wholeOrZero,
  jitter: oneOf('none', 'full', 'equal'),
}

const DEPRECATED: Shapes<NonNullable<OperationRules['deprecated']>> = {
  sunset: parsed((date) => sunsetOf('the last day', date)),
  replacement: parsed(parseName),
}

const NEED: Shapes<AuthorizationNeed> = { id: text, scopes: listOf(text) }

/** A remote tool gets only its arguments: replies to questions would not reach it. */
const REQUIRES: Shapes<Omit<Requirements, 'answers'>> = {
  authorization: listOf(record(NEED, { required: { id: 'Name the provider.' } })),
  secrets: listOf(text),
  userId: flag,
}

const CACHE = { policy: oneOf('none', 'server', 'location'), ttlSeconds: whole }

const ERROR: Shapes<DeclaredError> = { description: text, remedy: text, retryable: flag }

const RULES: Shapes<DeclaredRules> = {
  description: text,
  title: text,
  version: parsed(parseVersion),
  model: oneOf('sync', 'async'),
  sideEffecting: flag,
  idempotencyRequired: flag,
  maxSyncMs: whole,
  ttlSeconds: wholeOrZero,
  timeoutMs: whole,
  deadlineMs: whole,
  retry: record(RETRY, { required: { attempts: 'Set the total number of attempts.' } }),
  capabilities: listOf(text),
  risk: oneOf(...RISKS),
  scopes: listOf(text),
  public: flag,
  tool: flag,
  cache: record(CACHE, { required: { policy: 'Write none, server or location.' } }),
  concurrency: whole,
  deprecated: record(DEPRECATED),
  errors: mapOf(record(ERROR, { required: { description: 'Say what the code means.' } })),
  requires: record(REQUIRES),
}

const AUTH: Shapes<AuthBinding> = {
  profile: oneOf('bearer', 'api_key_header', 'basic', 'oauth2_client_credentials'),
  secretRef: text,
  headerName: text,
  tokenURL: text,
  scopes: listOf(text),
}

/** Field names that people use for secrets. */
const SECRET_NAME = /secret|token|password|passwd|passphrase|credential|bearer|api_?key|^(?:key|value|username|user)$/i

const auth = record(AUTH, {
  advice(name) {
    const plain = name.toLowerCase().replaceAll(/[_-]/g, '')
    if (Object.keys(AUTH).some((known) => known.toLowerCase() === plain)) return undefined
    if (!SECRET_NAME.test(name)) return undefined
    return `auth.${name} would put a secret into a file. Store the secret on the server, and name it in auth.secretRef.`
  },
})

export const OPERATION = {
  operation: parsed(parseName),
  args: object,
  result: object,
  ...RULES,
  backend: object,
  auth,
}

/** Imported tools have their own names, descriptions and schemas. */
export const IMPORT = {
  import: object,
  model: RULES.model,
  sideEffecting: flag,
  idempotencyRequired: flag,
  maxSyncMs: whole,
  ttlSeconds: wholeOrZero,
  timeoutMs: whole,
  deadlineMs: whole,
  retry: RULES.retry,
  capabilities: RULES.capabilities,
  risk: RULES.risk,
  scopes: RULES.scopes,
  public: flag,
  concurrency: whole,
  auth,
}
