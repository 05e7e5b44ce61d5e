/** Applies the defaults of an operation at start-up and refuses invalid combinations, with a message that says how to fix them. */

import type { ExecutionModel } from '../call/instance.ts'
import { Fault } from '../fault.ts'
import type { Backend } from '../ports/backend.ts'
import { parseAuth } from './credential.ts'
import { type OperationName, parseName, parseVersion } from './names.ts'
import type { Operation, OperationDefinition, PreparedSchemas } from './operation.ts'
import { type OperationRules, RISKS } from './rules.ts'
import type { Overflow, StreamRules } from './stream.ts'

const TTL_SECONDS: Record<ExecutionModel, number> = { sync: 0, async: 86_400, stream: 3_600 }
const MAX_SYNC_MS = 5_000
/** Default limit of one attempt at a remote tool, so that a silent tool does not block for ever. */
const REMOTE_TIMEOUT_MS = 60_000
/** Tool Contract v1, "Capability Taxonomy" (docs/readings.md#a27): the list is open. */
const CAPABILITY = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/

/** The codes that `errors` may declare. `PANIC_` marks failures of the server. */
const ERROR_CODE = /^(?!PANIC_)[A-Za-z][\w.-]{0,99}$/

const MODELS: readonly ExecutionModel[] = ['sync', 'async', 'stream']
const OVERFLOWS: readonly Overflow[] = ['wait', 'latest', 'drop', 'end']

export function completeOperation(
  definition: OperationDefinition,
  schemas: PreparedSchemas,
  backend: Backend,
  stream?: StreamRules,
): Operation {
  const { rules } = definition
  const name = parseName(definition.name)
  const model = rules.model ?? (stream ? 'stream' : rules.chunked ? 'async' : 'sync')
  const sideEffecting = rules.sideEffecting ?? false
  const version = rules.version ?? `${name.major}.0.0`
  const operation: Operation = {
    ...(definition.backend && { timeoutMs: REMOTE_TIMEOUT_MS }),
    ...optional(rules),
    key: `${name.full}@${version}`,
    name,
    version,
    model,
    sideEffecting,
    description: rules.description ?? '',
    idempotencyRequired: rules.idempotencyRequired ?? sideEffecting,
    maxSyncMs: rules.maxSyncMs ?? MAX_SYNC_MS,
    ttlSeconds: rules.ttlSeconds ?? TTL_SECONDS[model],
    retry: rules.retry ?? { attempts: 1 },
    scopes: rules.scopes ?? [],
    capabilities: rules.capabilities ?? [],
    risk: rules.risk ?? 'low',
    public: rules.public ?? false,
    tool: rules.tool ?? true,
    media: rules.media ?? [],
    cache: rules.cache ?? { policy: 'none' },
    errors: rules.errors ?? {},
    parseArgs: schemas.parseArgs,
    parseResult: schemas.parseResult,
    schemas: schemas.schemas,
    backend,
    ...(definition.auth && { auth: parseAuth(definition.auth) }),
    ...(stream && { stream }),
  }
  check(operation)
  return operation
}

function optional(rules: OperationRules): Partial<Operation> {
  const { title, timeoutMs, deadlineMs, concurrency, chunked, deprecated, requires, internal, slotless } = rules
  return {
    ...(title !== undefined && { title }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(chunked && { chunked: chunked === true ? {} : chunked }),
    ...(deprecated && { deprecated }),
    ...(requires && { requires }),
    ...(internal && { internal }),
    ...(internal && slotless && { slotless }),
  }
}

function check(operation: Operation): void {
  const { name, model, ttlSeconds, retry, media, cache, deprecated, backend } = operation
  if (operation.auth && !backend.usesAuth) {
    const { kind, insteadOfAuth = 'Leave it out.' } = backend
    refuseUnless(false, name, `a backend of kind ${kind} does not use "auth". ${insteadOfAuth}`)
  }
  parseVersion(operation.version)
  refuseUnless(MODELS.includes(model), name, `model "${String(model)}" is not one of ${MODELS.join(', ')}.`)
  refuseUnless(
    (model === 'stream') === (operation.stream !== undefined),
    name,
    'a stream needs "frame", the schema of its frames, and no other model than "stream".',
  )
  if (operation.stream) checkStream(operation, operation.stream)
  refuseUnless(
    model === 'sync' || ttlSeconds > 0,
    name,
    'an async operation or a stream needs ttlSeconds above 0, so that callers can fetch its result.',
  )
  refuseUnless(!operation.chunked || model === 'async', name, 'a chunked result needs model "async".')
  refuseUnless(
    cache.policy !== 'server' ||
      (model === 'sync' && !operation.sideEffecting && ttlSeconds === 0 && !operation.idempotencyRequired),
    name,
    'the server can cache only a sync operation without side effects, ttlSeconds and idempotency keys, because others are recorded.',
  )
  refuseUnless(isCount(retry.attempts), name, 'retry.attempts must be a whole number of 1 or more.')
  for (const [field, value] of Object.entries({
    maxSyncMs: operation.maxSyncMs,
    timeoutMs: operation.timeoutMs,
    deadlineMs: operation.deadlineMs,
    concurrency: operation.concurrency,
  })) {
    refuseUnless(value === undefined || isCount(value), name, `${field} must be a whole number of 1 or more.`)
  }
  refuseUnless(Number.isFinite(ttlSeconds) && ttlSeconds >= 0, name, 'ttlSeconds must be a number of 0 or more.')
  refuseUnless(
    !operation.public || operation.scopes.length === 0,
    name,
    'a public operation cannot require scopes, because its callers need no credential. Remove one of the two.',
  )
  const slots = new Set(media.map((slot) => slot.name))
  refuseUnless(slots.size === media.length, name, 'two media slots have the same name.')
  for (const slot of media) {
    refuseUnless(
      /^[\w.-]{1,100}$/.test(slot.name),
      name,
      `media slot "${slot.name}": use letters, digits, ".", "_" and "-" only.`,
    )
    refuseUnless(isCount(slot.maxBytes), name, `media slot "${slot.name}" needs maxBytes of 1 or more.`)
  }
  for (const capability of operation.capabilities) {
    refuseUnless(
      CAPABILITY.test(capability),
      name,
      `the capability "${capability}" must be lower-case words with dots between them, such as network.read.`,
    )
  }
  refuseUnless(RISKS.includes(operation.risk), name, `risk "${operation.risk}" is none of ${RISKS.join(', ')}.`)
  for (const [code, declared] of Object.entries(operation.errors)) {
    refuseUnless(
      ERROR_CODE.test(code),
      name,
      `the error code "${code}" needs a letter and then letters, digits, "_", "." and "-", at most 100, and no PANIC_ at its start.`,
    )
    refuseUnless(
      typeof declared.description === 'string' && declared.description.trim() !== '',
      name,
      `the error ${code} needs a description of what it means.`,
    )
  }
  if (deprecated?.sunset !== undefined) sunsetOf(name.full, deprecated.sunset)
  if (deprecated?.replacement !== undefined) parseName(deprecated.replacement)
}

function checkStream({ name, retry, timeoutMs, deadlineMs }: Operation, stream: StreamRules): void {
  refuseUnless(
    timeoutMs === undefined && deadlineMs === undefined,
    name,
    'a stream has no timeoutMs and no deadlineMs. Set ttlSeconds instead.',
  )
  refuseUnless(retry.attempts === 1, name, 'a stream is not retried: its reader subscribes again. Leave "retry" out.')
  refuseUnless(OVERFLOWS.includes(stream.overflow), name, `stream.overflow is none of ${OVERFLOWS.join(', ')}.`)
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1
}

function refuseUnless(condition: boolean, name: OperationName, problem: string): void {
  if (!condition) throw new Fault('malformed', `${name.full}: ${problem}`, { code: 'INVALID_OPERATION' })
}

/** When an operation with this sunset date stops being served: at the end of that day, UTC. */
export function sunsetOf(name: string, date: string): number {
  const midnight = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) {
    throw new Fault('malformed', `${name}: "${date}" is not a date. Write it as 2026-06-01.`, {
      code: 'INVALID_OPERATION',
    })
  }
  return midnight + 86_400_000
}
