/**
 * Calls the handler of an attempt and converts its result or error to an ending: a validated result, bytes written in
 * chunks, a wait for a callback, or a fault. `attempt.ts` decides whether the ending still counts.
 */

import type { Outcome } from '../../core/call/instance.ts'
import { isTextual } from '../../core/call/media.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import { Chunked, type ChunkSource, Deferred, Located } from '../../core/operation/returned.ts'
import { pumpFrames } from '../stream/frame-pump.ts'
import type { Attempt } from './attempt.ts'
import { AttemptContext } from './attempt-context.ts'
import type { AttemptRun } from './attempt-run.ts'
import { chunksId, pumpPieces } from './chunk-pieces.ts'
import type { Ending } from './ending.ts'
import type { AttemptParts } from './job.ts'

const MAX_EXCEPTION_TEXT = 2_000

/** Never throws or rejects. Returns the ending of a synchronous handler without a promise. */
export function runHandler(attempt: Attempt, parts: AttemptParts, args: unknown): Ending | Promise<Ending> {
  try {
    const context = new AttemptContext(attempt, parts)
    const injected = parts.inject?.(attempt.job)
    const ending =
      injected instanceof Promise
        ? injected.then((more) => execute(attempt, parts, args, Object.assign(context, more)))
        : execute(attempt, parts, args, injected ? Object.assign(context, injected) : context)
    return ending instanceof Promise ? ending.catch((thrown) => failure(attempt, parts, thrown)) : ending
  } catch (thrown) {
    return failure(attempt, parts, thrown)
  }
}

function execute(
  attempt: Attempt,
  parts: AttemptParts,
  args: unknown,
  context: AttemptContext,
): Ending | Promise<Ending> {
  const { recallShown } = attempt.run
  if (!recallShown) return perform(attempt, parts, args, context)
  return concealShown(attempt, recallShown).then(() => perform(attempt, parts, args, context))
}

/** Conceals the credentials of earlier attempts, because the tool may repeat them in its callback. */
async function concealShown(attempt: Attempt, recallShown: NonNullable<AttemptRun['recallShown']>): Promise<void> {
  for (const value of await recallShown()) attempt.conceal(value)
}

function perform(
  attempt: Attempt,
  parts: AttemptParts,
  args: unknown,
  context: AttemptContext,
): Ending | Promise<Ending> {
  const { backend, chunked, stream } = attempt.job.operation
  const { waiting } = attempt.run
  // The steps before the handler may take so long that the attempt has been stopped.
  if (attempt.stoppedBy) throw attempt.stoppedBy
  attempt.began = true
  const returned =
    waiting !== undefined && backend.resume ? backend.resume(waiting, args, context) : backend.execute(args, context)
  if (stream) return pumpFrames(attempt, returned, parts.streams?.get(attempt.job.id), parts.env)
  if (chunked) return writeChunks(attempt, parts, returned, chunked.mimeType)
  return isThenable(returned)
    ? Promise.resolve(returned).then((value) => endingOf(attempt, value))
    : endingOf(attempt, returned)
}

function endingOf(attempt: Attempt, returned: unknown): Ending | Promise<Ending> {
  if (returned instanceof Deferred) return deferral(attempt, returned)
  if (returned instanceof Located) return { kind: 'location', location: returned.location }
  const parsed = parseResult(attempt, returned)
  return parsed instanceof Promise ? parsed.then(asResult) : asResult(parsed)
}

function parseResult(attempt: Attempt, returned: unknown): unknown {
  const { operation } = attempt.job
  if (!attempt.conceals) return operation.parseResult(returned)
  try {
    const parsed = operation.parseResult(returned)
    return parsed instanceof Promise ? parsed.catch(() => refuseUnfit(attempt, returned)) : parsed
  } catch {
    return refuseUnfit(attempt, returned)
  }
}

/**
 * A schema's message may truncate a value, and a truncated secret would not be found. So the redacted value is
 * validated.
 */
async function refuseUnfit(attempt: Attempt, returned: unknown): Promise<never> {
  await attempt.job.operation.parseResult(attempt.cleaned(returned as JsonValue))
  throw new Fault('internal', 'The result does not match the schema of the operation.', { code: 'INVALID_RESULT' })
}

function deferral({ run, job }: Attempt, deferred: Deferred): Ending {
  if (run.expectAnswer) return { kind: 'deferred', deferred }
  throw new Error(`${job.operation.backend.kind} cannot leave an unrecorded call waiting`)
}

function failure(attempt: Attempt, parts: AttemptParts, thrown: unknown): Outcome {
  return { kind: 'fault', fault: explain(attempt, parts, thrown).toRecord() }
}

/** A stopped handler usually throws an abort error. The reason for the stop is the real cause. */
function explain(attempt: Attempt, parts: AttemptParts, thrown: unknown): Fault {
  if (attempt.threwLate(thrown)) return Fault.from(thrown)
  if (attempt.stoppedBy && !(thrown instanceof Fault)) return attempt.stoppedBy
  const fault = Fault.from(thrown)
  if (fault.ofStorage) attempt.storageFault = fault
  if (fault.kind === 'internal') {
    const { operation, requestId } = attempt.job
    parts.env.log.error(
      { operation: operation.key, requestId, attempt: attempt.number, err: fault.cause ?? fault },
      'the handler failed',
    )
  }
  return thrown instanceof Fault ? fault : withText(parts, fault, thrown)
}

function withText({ env }: AttemptParts, { message, cause }: Fault, thrown: unknown): Fault {
  const said = thrown instanceof Error ? thrown.message : thrown
  if (typeof said !== 'string' || said === '') return new Fault('internal', message, { cause })
  const exceptionText = (env.redact(said) as string).slice(0, MAX_EXCEPTION_TEXT)
  return new Fault('internal', message, { cause, exceptionText })
}

async function writeChunks(
  attempt: Attempt,
  { objects, chunkBytes }: AttemptParts,
  returning: unknown,
  declaredType: string | undefined,
): Promise<Outcome> {
  const returned = await returning
  const { source, mimeType, value } = returned instanceof Chunked ? returned : plainPieces(returned, declaredType)
  const options = { mimeType, chunkBytes, text: isTextual(mimeType) }
  const writer = await objects.writeChunks(chunksId(attempt.job.id), options)
  const cleaning = attempt.cleaningBytes()
  const atEnd = await pumpPieces(source, async (bytes) => {
    if (attempt.stoppedBy) throw attempt.stoppedBy
    const clean = cleaning.push(bytes)
    if (clean.length > 0) await writer.write(clean)
  })
  const beside = typeof value === 'function' ? await value() : (value ?? atEnd)
  // Validates before the last chunk is announced, because the last chunk says that the result is complete.
  const parsed = beside === undefined ? undefined : await parseResult(attempt, beside)
  await writer.write(cleaning.end())
  // A call that has ended keeps its announced chunks. No chunk is announced after its end.
  attempt.throwIfStopped()
  await writer.finish()
  const location = { kind: 'chunks' as const, mimeType }
  return { kind: 'location', location: parsed === undefined ? location : { ...location, value: parsed as JsonValue } }
}

function plainPieces(source: unknown, mimeType: string | undefined): Chunked {
  if (mimeType !== undefined) return new Chunked(source as ChunkSource, mimeType)
  throw new Fault('internal', 'The operation does not declare the media type of its result. Return ctx.chunks(…).', {
    code: 'UNUSABLE_RESULT',
  })
}

function asResult(value: unknown): Outcome {
  return { kind: 'result', value: value as JsonValue }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
