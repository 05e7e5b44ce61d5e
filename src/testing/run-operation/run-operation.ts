/**
 * Runs one operation in a unit test: no server, no files, nothing left behind. Arguments, attachments and the result
 * are checked and the handler's context is made by the same code as in a server. Retries, records, scopes and limits
 * are a server's and left out.
 */
import { randomUUID } from 'node:crypto'
import { ANONYMOUS, type Caller } from '../../core/caller.ts'
import { Fault, type FaultRecord } from '../../core/fault.ts'
import type { LocationAuth, Outcome, Progress } from '../../core/instance.ts'
import type { JsonValue } from '../../core/json.ts'
import { checkMedia } from '../../core/media.ts'
import type { Operation, OperationDefinition } from '../../core/operation.ts'
import { completeOperation } from '../../core/operation-defaults.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Answers } from '../../core/questions.ts'
import { Attempt } from '../../engine/attempt/attempt.ts'
import { chunksId } from '../../engine/attempt/chunk-pieces.ts'
import type { AttemptParts, Job } from '../../engine/attempt/job.ts'
import { canceled } from '../../engine/end/end-faults.ts'
import { lineageBelow } from '../../engine/engine.ts'
import { prepareSchemas } from '../../schemas/index.ts'
import { joined, readChain } from '../fakes/chunk-chain.ts'
import type { LogLine } from '../fakes/memory-log.ts'
import { createMemoryObjects } from '../fakes/memory-objects.ts'
import { collect, text } from '../suites/objects/object-content.ts'
import { createRunEnvironment } from './run-environment.ts'
import { type GivenMedia, noFetcher, storeMedia } from './run-media.ts'

export interface RunOptions<App = unknown> {
  /** Differs from an anonymous caller with every scope where it says so. */
  caller?: Partial<Caller>
  /** Attachments by name. */
  media?: Readonly<Record<string, GivenMedia>>
  /** 1 unless given. */
  attempt?: number
  /** What `ctx.call` finds: operations, and functions that stand in for some, by name. */
  children?: readonly OperationDefinition<App>[] | Readonly<Record<string, Child<App>>>
  /** Cancels the call when it aborts. */
  signal?: AbortSignal
  requestId?: string
  sessionId?: string
  parentId?: string
  locale?: string
  traceparent?: string
  /** What `ctx.authorization` finds, by provider. */
  tokens?: Readonly<Record<string, string>>
  /** What `ctx.secret` finds, by id. */
  secrets?: Readonly<Record<string, string>>
  /** What `ctx.ask` is answered; what it asks besides ends the run as it would end a call. */
  answers?: Answers
  /** `ctx.key`; a fresh one unless given. */
  key?: string
  /** Keeps the operation's time limit; the real time unless given. */
  clock?: Clock
}

/** An operation, or a function that takes a child call's arguments and returns its result. */
export type Child<App = unknown> = OperationDefinition<App> | ((args: unknown) => unknown)

/** As in `createServer`: `context` may be left out only where the operation expects nothing of it. */
export type RunArguments<App> = unknown extends App
  ? [options?: RunOptions<App> & { context?: object }]
  : [options: RunOptions<App> & { context: App }]

/** How a run ended: exactly one of `result`, `object`, `location` and `chunks`, and what was told on the way. */
export type Ran<T> = { progress: readonly Progress[]; log: readonly LogLine[] } & (
  | Only<'result', T>
  | Only<'object', Content>
  | Only<'location', { uri: string; redirect: boolean; auth?: LocationAuth }>
  | Only<'chunks', Content & { value?: T }>
)

type Only<Field extends string, Value> = { [field in Field]: Value } & {
  [field in Exclude<'result' | 'object' | 'location' | 'chunks', Field>]?: undefined
}

/** Bytes that the handler made. */
export interface Content {
  mimeType: string
  filename?: string
  bytes: Uint8Array
  text(): string
}

/** Nothing here is tried again or shut down, so nothing waits for it. */
const STOP_GRACE_MS = 1_000
/** Small, so that little data makes more than one chunk. */
const CHUNK_BYTES = 1_024

/** Resolves with what the operation gave back; rejects with the fault its caller would see, which names what a handler threw. */
export async function runOperation<T = JsonValue, App = unknown>(
  definition: OperationDefinition<App>,
  args: unknown = {},
  ...[options = {} as RunOptions<App>]: RunArguments<App>
): Promise<Ran<T>> {
  const progress: Progress[] = []
  const log: LogLine[] = []
  const objects = createMemoryObjects()
  const { context } = options as { context?: object }
  const parts: AttemptParts = {
    env: createRunEnvironment(log, options.clock),
    objects,
    fetcher: noFetcher,
    callChild: (parent, _position, name, given) => callChild(parent, name, given ?? {}, options, parts),
    ...(context && { inject: () => context }),
    chunkBytes: CHUNK_BYTES,
    maxObjectBytes: Number.POSITIVE_INFINITY,
    stopGraceMs: STOP_GRACE_MS,
  }
  const job = await prepareJob(definition, options, objects)
  const attempt = new Attempt(job, options.attempt ?? 1, parts)
  attempt.onProgress = (step) => progress.push(step)
  const outcome = await runAttempt(attempt, args, options.signal)
  if (outcome.kind === 'fault') throw withCause(outcome.fault, log)
  return { progress, log, ...(await contentOf(job, outcome, objects)) } as Ran<T>
}

async function prepareJob<App>(
  definition: OperationDefinition<App>,
  options: RunOptions<App>,
  objects: ObjectStore,
): Promise<Job> {
  const { requestId = randomUUID(), sessionId, parentId, locale, traceparent, key: id = randomUUID() } = options
  const operation = prepareOperation(definition)
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

function prepareOperation<App>(definition: OperationDefinition<App>): Operation {
  const { run } = definition
  if (!run) throw new Fault('malformed', `${definition.name} runs on a backend; only functions can be run here.`)
  const execute: Operation['backend']['execute'] = (args, context) => run(args, context as typeof context & App)
  return completeOperation(definition as OperationDefinition, prepareSchemas(definition), { kind: 'handler', execute })
}

async function runAttempt(attempt: Attempt, args: unknown, signal?: AbortSignal): Promise<Outcome> {
  const parsed = await attempt.job.operation.parseArgs(args)
  const cancel = () => attempt.stop(canceled())
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    if (signal?.aborted) attempt.refuse(canceled())
    else attempt.start(parsed)
    const ending = await attempt.done
    if (ending.kind === 'deferred') throw new Fault('internal', 'A function cannot leave its call waiting.')
    return ending
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

/** Same caller, same session, same objects; a child's failure is the parent's to handle. */
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
    const message = `${parent.operation.name.full} calls ${name}, which this test does not have. Give it to runOperation: { children: { '${name}': … } }.`
    throw new Fault('unknown-operation', message)
  }
  if (typeof child === 'function') return child(args)
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

/** Callers never see what a handler threw; its developer, in a test, wants nothing more and has no server log to look in. */
function withCause(fault: FaultRecord, log: readonly LogLine[]): Fault {
  if (fault.kind !== 'internal') return Fault.fromRecord(fault)
  const cause = log.findLast(({ level, fields }) => level === 'error' && 'err' in fields)?.fields.err
  const message = cause instanceof Error && !(cause instanceof Fault) ? `The handler threw ${cause}` : fault.message
  return new Fault(fault.kind, message, { ...fault, cause })
}
