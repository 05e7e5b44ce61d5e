/**
 * Tool Contract v1, "Transport-Specific Behavior", webhook-callback. The engine does the waiting: between two polls
 * nothing runs here, and the stored state lets another process send the next poll.
 */
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { Deferred } from '../../core/operation/returned.ts'
import type { Backend, BackendParts } from '../../core/ports/backend.ts'
import type { RemoteAnswer } from '../../core/ports/outbound.ts'
import {
  decodeResponse,
  encodeRequest,
  faultOfStatus,
  outputOf,
  parseResponse,
  parseRetryAfter,
} from '../../protocols/contract/client.ts'
import { RemoteJob } from './job.ts'
import { parseWebhookSettings } from './settings.ts'
import { webhookTraits } from './traits.ts'
import { decodeWaiting, encodeWaiting, type Waiting } from './waiting.ts'

/** The shortest pause between two polls, even if `Retry-After` is shorter. */
const MIN_PAUSE_MS = 100
/** The longest pause between two polls. */
const MAX_PAUSE_MS = 3_600_000

export function createWebhookBackend(spec: BackendSpec, parts: BackendParts): Backend {
  const settings = parseWebhookSettings(spec)
  const { pollMs, maxPollMs, tool } = settings
  const { clock } = parts
  const naming = { mode: 'webhook-callback', ...(tool !== undefined && { tool }) }

  async function submit(args: unknown, context: BackendContext, job: RemoteJob, waiting: Waiting) {
    const answer = await job.submit(JSON.stringify(encodeRequest(args, context, naming)))
    if (answer.status === 200) return decodeResponse(answer.text, context.key)
    // docs/readings.md#a17: no other success status is accepted.
    if (answer.status !== 202) throw refusal(answer)
    return pause(context, { ...waiting, phase: 'polling', pollMs }, answer)
  }

  async function poll(args: unknown, context: BackendContext, job: RemoteJob, waiting: Waiting) {
    const answer = await ask(context, job)
    const slower = { ...waiting, pollMs: Math.min(waiting.pollMs * 2, maxPollMs) }
    if (answer === undefined || isPending(answer.status)) return pause(context, slower, answer)
    if (answer.status === 200) return decodeResponse(answer.text, context.key)
    // The process stopped while it submitted the call, and the tool does not know the id: the tool never received the
    // call.
    if (answer.status === 404 && waiting.phase === 'submitting') return submit(args, context, job, waiting)
    throw refusal(answer)
  }

  function pause({ remainingMs }: BackendContext, waiting: Waiting, answer: RemoteAnswer | undefined): Deferred {
    const asked = parseRetryAfter(answer?.header('retry-after'), clock.now())
    const wanted = asked === undefined ? waiting.pollMs : Math.min(Math.max(asked, MIN_PAUSE_MS), MAX_PAUSE_MS)
    const left = remainingMs ?? Number.POSITIVE_INFINITY
    return new Deferred(encodeWaiting(waiting), Math.max(1, Math.ceil(Math.min(wanted, left))))
  }

  function refusal(answer: RemoteAnswer): Fault {
    return faultOfStatus(answer.status, parseRetryAfter(answer.header('retry-after'), clock.now()))
  }

  return {
    ...webhookTraits,
    durable: true,
    ...(settings.callback && { callbackSecret: settings.callback.secretRef }),
    async execute(args, context) {
      const waiting: Waiting = { phase: 'submitting', pollMs }
      await context.expectAnswer(encodeWaiting(waiting))
      const job = new RemoteJob(settings, parts, context)
      return callingOff(context, job, () => submit(args, context, job, waiting))
    },
    async resume(stored, args, context) {
      if (context.answer !== undefined) return outputOf(parseResponse(context.answer, context.key))
      const waiting = decodeWaiting(stored, pollMs)
      const job = new RemoteJob(settings, parts, context)
      // By the engine's clock, which all nodes share. A time of this node's clock must not be stored.
      if (context.remainingMs !== undefined && context.remainingMs <= 0) {
        await job.cancel()
        throw timedOut(context)
      }
      return callingOff(context, job, () => poll(args, context, job, waiting))
    },
    async abandon(_stored: JsonValue, context) {
      await new RemoteJob(settings, parts, context).cancel()
    },
  }
}

/**
 * Returns `undefined` if the tool could not be reached. The engine polls again until the time limit.
 * docs/readings.md#a16.
 */
async function ask(context: BackendContext, job: RemoteJob): Promise<RemoteAnswer | undefined> {
  try {
    return await job.poll()
  } catch (thrown) {
    if (!context.signal.aborted && thrown instanceof Fault && thrown.kind === 'upstream' && thrown.retryable) {
      context.log.debug({ err: thrown }, 'could not poll the tool; polling again')
      return undefined
    }
    throw thrown
  }
}

function isPending(status: number): boolean {
  return status === 202 || status === 204 || status === 429 || status >= 500
}

/** Tells the tool about a cancellation or timeout. A call that moves to another process is not canceled. */
async function callingOff<T>({ signal }: BackendContext, job: RemoteJob, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (thrown) {
    const why: unknown = signal.aborted ? signal.reason : undefined
    if (why instanceof Fault && (why.kind === 'canceled' || why.kind === 'timeout')) await job.cancel()
    throw thrown
  }
}

function timedOut({ terms }: BackendContext): Fault {
  const { timeoutMs } = terms
  return new Fault(
    'timeout',
    'The tool did not answer in time. Give the operation a longer "timeoutMs", or send the call again.',
    {
      ...(timeoutMs !== undefined && { details: { timeoutMs } }),
    },
  )
}
