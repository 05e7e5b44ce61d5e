/**
 * Runs one operation in a unit test, without a server or files. The same code as in a server checks arguments,
 * attachments and the result, and creates the handler's context. Retries, records, scopes and limits are left out.
 */
import { randomUUID } from 'node:crypto'
import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import type { LocationAuth, Outcome, Progress } from '../../core/call/instance.ts'
import { checkMedia } from '../../core/call/media.ts'
import type { Answers } from '../../core/call/questions.ts'
import { Fault, type FaultRecord } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { completeOperation } from '../../core/operation/defaults.ts'
import type { Operation, OperationDefinition } from '../../core/operation/operation.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import { Attempt } from '../../engine/attempt/attempt.ts'
import { chunksId } from '../../engine/attempt/chunk-pieces.ts'
import type { AttemptParts, Job } from '../../engine/attempt/job.ts'
import { lineageBelow } from '../../engine/child-calls.ts'
import { canceled } from '../../engine/end/end-faults.ts'
import { prepareSchemas } from '../../schemas/index.ts'
import { joined, readChain } from '../fakes/chunk-chain.ts'
import type { LogLine } from '../fakes/memory-log.ts'
import { createMemoryObjects } from '../fakes/memory-objects.ts'
import { collect, text } from '../suites/objects/object-content.ts'
import { createRunEnvironment } from './run-environment.ts'
import { type GivenMedia, noFetcher, storeMedia } from './run-media.ts'
import { collectingRules, createRunStreams, startStream } from './run-stream.ts'

export interface RunOptions<App = unknown> {
  /** Overrides fields of the default caller: anonymous, with every scope. */
  caller?: Partial<Caller>
  /** Attachments by name. */
  media?: Readonly<Record<string, GivenMedia>>
  /** Default: 1. */
  attempt?: number
  /** What `ctx.call` can call: operations, or by name, operations and functions that replace them. */
  children?: readonly OperationDefinition<App>[] | Readonly<Record<string, Child<App>>>
  /** Cancels the call when it aborts. */
  signal?: AbortSignal
  requestId?: string
  sessionId?: string
  parentId?: string
  locale?: string
  traceparent?: string
  /** Tokens for `ctx.authorization`, by provider. */
  tokens?: Readonly<Record<string, string>>
  /** Values for `ctx.secret`, by id. */
  secrets?: Readonly<Record<string, string>>
  /** Replies to the questions of `ctx.ask`. A question without a reply ends the run as it would end a call. */
  answers?: Answers
  /** `ctx.key`. Default: a new one. */
  key?: string
  /** Unsubscribes from a stream after this many frames. Default: the stream runs to its end. */
  frames?: number
  /** Measures the operation's time limit. Default: real time. */
  clock?: Clock
}

/** An operation, or a function that takes a child call's arguments and returns its result. */
export type Child<App = unknown> = OperationDefinition<App> | ((args: unknown) => unknown)

/** As in `createServer`: `context` is optional only if the operation expects nothing from it. */
export type RunArguments<App> = unknown extends App
  ? [options?: RunOptions<App> & { context?: object }]
  : [options: RunOptions<App> & { context: App }]

/**
 * The outcome of a run: exactly one of `result`, `object`, `location` and `chunks`, with its progress reports and log
 * lines. A stream also has its frames; its result is the summary.
 */
export type Ran<T> = { progress: readonly Progress[]; log: readonly LogLine[]; frames: readonly unknown[] } & (
  | Only<'result', T>
  | Only<'object', Content>
  | Only<'location', { uri: string; redirect: boolean; auth?: LocationAuth }>
  | Only<'chunks', Content & { value?: T }>
)

type Only<Field extends string, Value> = { [field in Field]: Value } & {
  [field in Exclude<'result' | 'object' | 'location' | 'chunks', Field>]?: undefined
}

/** Bytes that the handler returned. */
export interface Content {
  mimeType: string
  filename?: string
  bytes: Uint8Array
  text(): string
}

/** Unused here: a run is neither retried nor shut down. */
const STOP_GRACE_MS = 1_000
/** Small, so that a little data fills more than one chunk. */
const CHUNK_BYTES = 1_024

/**
 * Resolves with the operation's outcome. Rejects with the fault that a caller would see, and includes what the handler
 * threw.
 */
export async function runOperation<T = JsonValue, App = unknown>(
  definition: OperationDefinition<App>,
  args: unknown = {},
  ...[options = {} as RunOptions<App>]: RunArguments<App>
): Promise<Ran<T>> {
  const progress: Progress[] = []
  const log: LogLine[] = []
  const objects = createMemoryObjects()
  const { context } = options as { context?: object }
  const frames: unknown[] = []
  const env = createRunEnvironment(log, options.clock)
  const streams = createRunStreams(env.clock)
  const parts: AttemptParts = {
    env,
    streams,
    objects,
    fetcher: noFetcher,
    callChild: (parent, _position, name, given) => callChild(parent, name, given ?? {}, options, parts),
    ...(context && { inject: () => context }),
    chunkBytes: CHUNK_BYTES,
    maxObjectBytes: Number.POSITIVE_INFINITY,
    stopGraceMs: STOP_GRACE_MS,
  }
  const job = await prepareJob(definition, options, objects, frames)
  const attempt = new Attempt(job, options.attempt ?? 1, parts)
  attempt.onProgress = (step) => progress.push(step)
  const { frames: most = Number.POSITIVE_INFINITY } = options
  const start = job.operation.stream
    ? (parsed: unknown) => startStream(streams, attempt, parsed, most, env.clock)
    : undefined
  const outcome = await runAttempt(attempt, args, options.signal, start)
  streams.ended(job.id, outcome)
  if (outcome.kind === 'fault') throw withCause(outcome.fault, log)
  return { progress, log, frames, ...(await contentOf(job, outcome, objects)) } as Ran<T>
}

async function prepareJob<App>(
  definition: OperationDefinition<App>,
  options: RunOptions<App>,
  objects: ObjectStore,
  frames: unknown[],
): Promise<Job> {
  const { requestId = randomUUID(), sessionId, parentId, locale, traceparent, key: id = randomUUID() } = options
  const operation = prepareOperation(definition, frames)
  const media = await storeMedia(operation, id, options.media ?? {}, objects)
  const { answers } = options
  return {
    id,
    operation,
    ...(answers && { asking: { kinds: ['form', 'completion', 'roots'], answers } }),
    caller: { ...ANONYMOUS, scopes: ['*'], ...options.caller },
    requestId,
    media: await checkMedia(operation, media, noFetcher, () => options.signal ?? new AbortController().signal),
    lineage: [],
    given: {
      tokens: new Map(Object.entries(options.tokens ?? {})),
      secrets: new Map(Object.entries(options.secrets ?? {})),
    },
    ...(sessionId !== undefined && { sessionId }),
    ...(parentId !== undefined && { parentId }),
    ...(locale !== undefined && { locale }),
    ...(traceparent !== undefined && { traceparent }),
  }
}

function prepareOperation<App>(definition: OperationDefinition<App>, frames: unknown[] = []): Operation {
  const { run } = definition
  if (!run)
    throw new Fault('malformed', `${definition.name} runs on a backend. Only operations with a function can run here.`)
  const execute: Operation['backend']['execute'] = (args, context) => run(args, context as typeof context & App)
  const schemas = prepareSchemas(definition)
  const stream = collectingRules(definition, schemas, frames)
  return completeOperation(definition as OperationDefinition, schemas, { kind: 'handler', execute }, stream)
}

async function runAttempt(
  attempt: Attempt,
  args: unknown,
  signal?: AbortSignal,
  start: (parsed: unknown) => void = (parsed) => void attempt.start(parsed),
): Promise<Outcome> {
  const parsed = await attempt.job.operation.parseArgs(args)
  const cancel = () => attempt.stop(canceled())
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    if (signal?.aborted) attempt.refuse(canceled())
    else start(parsed)
    const ending = await attempt.done
    if (ending.kind === 'deferred') throw new Fault('internal', 'A function cannot leave its call waiting.')
    return ending
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

/** Uses the parent's caller, session and objects. The parent handles a child's failure. */
async function callChild<App>(
  parent: Job,
  name: string,
  args: unknown,
  { children = {}, signal }: RunOptions<App>,
  parts: AttemptParts,
): Promise<unknown> {
  const lineage = lineageBelow(parent, name)
  const given = new Map(Array.isArray(children) ? children.map((each) => [each.name, each]) : Object.entries(children))
  const child = given.get(name)
  if (!child) {
    const message = `${parent.operation.name.full} calls ${name}, which this test does not define. Pass it to runOperation: { children: { '${name}': … } }.`
    throw new Fault('unknown-operation', message)
  }
  if (typeof child === 'function') return child(args)
  if (child.frame)
    throw new Fault('invalid-input', `${name} is a stream, and cannot be called by a handler.`, {
      code: 'STREAM_NOT_SUPPORTED',
    })
  const job: Job = {
    ...parent,
    id: randomUUID(),
    requestId: randomUUID(),
    parentId: parent.requestId,
    operation: prepareOperation(child),
    media: [],
    lineage,
  }
  const outcome = await runAttempt(new Attempt(job, 1, parts), args, signal)
  if (outcome.kind === 'fault') throw Fault.fromRecord(outcome.fault)
  return outcome.kind === 'result' ? outcome.value : outcome.location
}

async function contentOf(job: Job, outcome: Exclude<Outcome, { kind: 'fault' }>, objects: ObjectStore) {
  if (outcome.kind === 'result') return { result: outcome.value }
  const { location } = outcome
  switch (location.kind) {
    case 'external': {
      const { kind: _external, ...rest } = location
      return { location: rest }
    }
    case 'object': {
      const { objectId, mimeType } = location
      const filename = (await objects.info(objectId))?.filename
      const bytes = await collect(objects.read(objectId))
      return { object: { ...content(mimeType, bytes), ...(filename !== undefined && { filename }) } }
    }
    case 'chunks': {
      const { mimeType, value } = location
      const whole = content(mimeType, joined(await readChain(objects, chunksId(job.id))))
      return { chunks: { ...whole, ...(value !== undefined && { value }) } }
    }
  }
}

function content(mimeType: string, bytes: Uint8Array): Content {
  return { mimeType, bytes: new Uint8Array(bytes), text: () => text(bytes) }
}

/** Callers never see what a handler threw. In a test, the developer needs it and has no server log. */
function withCause(fault: FaultRecord, log: readonly LogLine[]): Fault {
  if (fault.kind !== 'internal') return Fault.fromRecord(fault)
  const cause = log.findLast(({ level, fields }) => level === 'error' && 'err' in fields)?.fields.err
  const message = cause instanceof Error && !(cause instanceof Fault) ? `The handler threw ${cause}` : fault.message
  return new Fault(fault.kind, message, { ...fault, cause })
}
