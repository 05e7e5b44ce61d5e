/**
 * Runs one operation in a unit test: no server, no files, nothing left behind. Arguments, attachments and the result
 * are checked and the handler's context is made by the same code as in a server; retries, records, scopes and limits
 * belong to a server and are left out.
 */
import { hash, randomUUID } from 'node:crypto'
import { Attempt, type AttemptParts, chunksId, type Job } from '../core/attempt.ts'
import { lineageBelow } from '../core/engine.ts'
import { Fault } from '../core/fault.ts'
import type { JsonValue } from '../core/json.ts'
import { checkMedia } from '../core/media.ts'
import { ANONYMOUS, type Caller, type LocationAuth, type Outcome, type Progress } from '../core/model.ts'
import type { Operation, OperationDefinition } from '../core/operation.ts'
import type { Clock, Environment, ObjectStore } from '../core/ports.ts'
import { completeOperation } from '../core/rules.ts'
import { canceled } from '../core/worker.ts'
import { prepareSchemas } from '../schemas/index.ts'
import { readChain } from './chunk-chain.ts'
import { createMemoryLog, type LogLine } from './memory-log.ts'
import { createMemoryObjects } from './memory-objects.ts'
import { collect } from './object-content.ts'
import { type GivenMedia, noFetcher, storeMedia } from './run-media.ts'

export interface RunOptions<App = unknown> {
  /** Differs from an anonymous caller with every scope where it says so. */
  caller?: Partial<Caller>
  /** Attachments by name: text, bytes, or either with its type. */
  media?: Readonly<Record<string, GivenMedia>>
  /** 1 unless given. */
  attempt?: number
  /** What `ctx.call` finds: further operations, and functions that stand in for some, by name. */
  children?: readonly OperationDefinition<App>[] | Readonly<Record<string, Child<App>>>
  /** Cancels the call when it aborts. */
  signal?: AbortSignal
  requestId?: string
  sessionId?: string
  parentId?: string
  locale?: string
  traceparent?: string
  /** `ctx.key`; a fresh one unless given. */
  key?: string
  /** Keeps the operation's time limit; the real time unless given. */
  clock?: Clock
}

/** An operation, or a function that is given the child call's arguments and returns its result. */
export type Child<App = unknown> = OperationDefinition<App> | ((args: unknown) => unknown)

/** As for `createServer`: needed where the operation expects something of the application. */
type Injected<App> = unknown extends App ? [options?: RunOptions<App> & { context?: object }] : [options: RunOptions<App> & { context: App }]

/** How a run ended well: exactly one of `result`, `object`, `location` and `chunks`. */
export type Ran<T> = { progress: readonly Progress[]; log: readonly LogLine[] } & (
  | (Neither & { result: T })
  | (Neither & { object: Content })
  | (Neither & { location: { uri: string; auth?: LocationAuth; redirect: boolean } })
  | (Neither & { chunks: Content })
)

type Neither = { result?: unknown; object?: Content; location?: object; chunks?: Content }

/** Bytes that the handler made. */
export interface Content {
  mimeType: string
  filename?: string
  bytes: Uint8Array
  text(): string
}

/** How long a handler that was told to stop may go on. */
const STOP_GRACE_MS = 1_000
/** Small, so that a test with little data sees more than one chunk made. */
const CHUNK_BYTES = 1_024

/** Resolves with what the operation gave back, or rejects with the fault its caller would see. */
export async function runOperation<T = JsonValue, App = unknown>(
  definition: OperationDefinition<App>,
  args: unknown = {},
  ...[options]: Injected<App>
): Promise<Ran<T>> {
  const run = new Run<App>(options ?? {})
  const outcome = await run.run(definition, args)
  const rest = { progress: run.progress, log: run.lines }
  if (outcome.kind === 'result') return { ...rest, result: outcome.value as T }
  if (outcome.kind === 'fault') throw explain(outcome.fault, run.lines)
  const { location } = outcome
  if (location.kind === 'external') {
    const { uri, auth, redirect } = location
    return { ...rest, location: { uri, redirect, ...(auth && { auth }) } }
  }
  if (location.kind === 'object') return { ...rest, object: await storedObject(run.objects, location.objectId) }
  const chain = await readChain(run.objects, chunksId(run.id))
  return { ...rest, chunks: contentOf(location.mimeType, Buffer.concat(chain.map((chunk) => chunk.bytes))) }
}
