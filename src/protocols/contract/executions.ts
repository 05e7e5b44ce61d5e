/** Runs ToolExecutionRequests, synchronously or as jobs. Routes (HTTP) and methods (gRPC) read the bytes. */

import { ANONYMOUS, type Caller } from '../../core/call/caller.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Calls } from '../../core/ports/calls.ts'
import type { Catalog, Tools } from '../../core/ports/catalog.ts'
import type { Identify } from '../../core/ports/guard.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Records } from '../../core/ports/store.ts'
import { explain } from '../../wire/explain.ts'
import { requireCredential, visibleTo } from '../../wire/strangers.ts'
import { parseJsonText } from '../../wire/strict-json.ts'
import {
  type Answered,
  attemptId,
  decodeCall,
  type EndedReply,
  encodeFault,
  encodeReply,
  type Locate,
} from './codec.ts'
import { identityIn, parseRequest } from './envelope.ts'
import { failureLine, failureMetadata } from './metadata.ts'
import { checkRuntimePolicy, type IsolationOf } from './runtime-policy.ts'
import { type ToolExecutionResponse, type Trace, VERSION_HEADER } from './wire.ts'

export interface ContractParts {
  calls: Pick<Calls, 'call' | 'admit' | 'poll' | 'hasToldOf'>
  catalog: Pick<Catalog, 'hasPublic'>
  tools: Tools
  env: Environment
  /** Stores the fields of a job's request that its later responses repeat. */
  records: Pick<Records, 'put' | 'get'>
  /** Identifies the caller. `header` takes lower-case names. */
  identify: (source: { header(name: string): string | undefined }) => Identify
  locate: Locate
  settings: ContractSettings
}

export interface ContractSettings {
  maxBodyBytes: number
  /** How long `execute` waits for a call to end. */
  holdMs: number
  /** How long `submit` waits for a job to end before it responds that the job is running. */
  jobWaitMs: number
  /** `strings`: every value in `error.details` is text. */
  details: 'json' | 'strings'
  isolationOf: IsolationOf
}

/** A request from a carrier. */
export interface Incoming {
  header(name: string): string | undefined
  /** Returns the body. Throws a fault if it cannot be read. */
  text(): Promise<string>
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
  readonly deadlineMs?: number
  readonly origin: string
}

export type Execution = Ended | { kind: 'running'; requestId: string; retryAfterMs: number }

interface Ended {
  kind: 'ended'
  response: ToolExecutionResponse
  /** The reason why the request was not run. */
  refusal?: Fault
}

/** The fields of a job's request that its later responses need. */
interface Job {
  trace: Trace
  attempt: number
}

type RunningReply = Exclude<Reply, EndedReply>

export class Executions {
  readonly #parts: ContractParts

  constructor(parts: ContractParts) {
    this.#parts = parts
  }

  /** Waits for the call to end. A call that takes longer continues, and the same request joins it. */
  execute(incoming: Incoming): Promise<Ended> {
    return this.#run(incoming, 'execution', (reply, { operation, answered }) => {
      const ended = this.#ended(stillRunning(reply, operation), answered, incoming)
      this.#report(ended.response)
      return ended
    })
  }

  /** Returns the outcome if the job ends within `jobWaitMs`. Otherwise the client polls for it by request id. */
  submit(incoming: Incoming): Promise<Execution> {
    return this.#run(incoming, 'job', async ({ retryAfterMs, expiresAt }, { caller, answered, attempt }) => {
      const { requestId, trace } = answered
      await this.#remember(caller, requestId, { trace, attempt }, expiresAt)
      return { kind: 'running', requestId, retryAfterMs }
    })
  }

  async poll(incoming: Incoming, requestId: string): Promise<Execution> {
    const { calls, env } = this.#parts
    const startedAt = env.clock.monotonicMs()
    const answered = { requestId, trace: { trace_id: '', span_id: '' } }
    try {
      const caller = await this.#caller(incoming)
      const { trace, attempt } = await this.#recall(caller ?? ANONYMOUS, requestId)
      const reply = await calls.poll(caller, attemptId(requestId, attempt))
      if (!isEnded(reply)) return { kind: 'running', requestId, retryAfterMs: reply.retryAfterMs }
      return this.#ended(reply, { requestId, trace, elapsedMs: env.clock.monotonicMs() - startedAt }, incoming)
    } catch (thrown) {
      return this.#refused(thrown, { ...answered, elapsedMs: env.clock.monotonicMs() - startedAt })
    }
  }

  async #run<R>(
    incoming: Incoming,
    kind: 'execution' | 'job',
    running: (
      reply: RunningReply,
      about: { operation: Operation; caller: Caller; answered: Answered; attempt: number },
    ) => R | Promise<R>,
  ): Promise<Ended | R> {
    const { env } = this.#parts
    const startedAt = env.clock.monotonicMs()
    let body: JsonValue | undefined
    const answered = (): Answered => ({ ...identityIn(body), elapsedMs: env.clock.monotonicMs() - startedAt })
    try {
      let unreadable: unknown
      try {
        body = parseJsonText(await incoming.text())
      } catch (thrown) {
        unreadable = thrown
      }
      // The body is read before any check, because every response repeats the request id.
      const caller = await this.#caller(incoming)
      if (body === undefined) throw unreadable
      const { reply, operation, attempt } = await this.#call(body, caller, incoming, kind)
      if (isEnded(reply)) return this.#ended(reply, answered(), incoming)
      return await running(reply, { operation, caller: caller ?? ANONYMOUS, answered: answered(), attempt })
    } catch (thrown) {
      return this.#refused(thrown, answered())
    }
  }

  async #caller(incoming: Incoming): Promise<Caller | undefined> {
    const caller = await this.#parts.identify(incoming)()
    requireCredential(caller, this.#parts.catalog)
    return caller
  }

  async #call(
    body: JsonValue,
    caller: Caller | undefined,
    incoming: Incoming,
    kind: 'execution' | 'job',
  ): Promise<{ reply: Reply; operation: Operation; attempt: number }> {
    const { calls, settings } = this.#parts
    const request = parseRequest(body, incoming.header(VERSION_HEADER))
    const operation = this.#resolve(request.toolName, caller)
    // Admission comes before the comparison with the declaration: a caller without permission learns nothing about it.
    await calls.admit(operation.name.full, () => caller)
    checkRuntimePolicy(request, operation, this.#parts.settings.isolationOf)
    const call = decodeCall(request, operation.name.full, identityIn(body).trace)
    const holdMs = kind === 'job' ? settings.jobWaitMs : settings.holdMs
    if (kind === 'job') call.waitMs = holdMs
    const bound = kind === 'execution' && operation.model === 'sync'
    // The client's deadline also limits the call, except for a call that continues after the client stops waiting.
    if (bound && incoming.deadlineMs !== undefined) {
      const deadlineMs = Math.min(incoming.deadlineMs, call.terms?.deadlineMs ?? incoming.deadlineMs)
      call.terms = { ...call.terms, deadlineMs }
    }
    // "Runtime Semantics", cancellation: a runtime that stops waiting cancels the call. Jobs and async operations
    // continue.
    const options = { client: incoming, holdMs, untilEnd: true, cancelsWhenGone: bound, freezes: true }
    const reply = await calls.call(call, () => caller, options)
    return { reply, operation, attempt: request.attempt }
  }

  #resolve(name: string, caller: Caller | undefined): Operation {
    const { tools, env } = this.#parts
    const operation = visibleTo(caller, tools.byName(name, env.clock.now()))
    if (operation) return operation
    throw new Fault('unknown-operation', `There is no tool "${name}".`, { details: { field: 'tool.name' } })
  }

  #ended(reply: EndedReply, answered: Answered, { origin }: Incoming): Ended {
    const response = encodeReply(reply, answered, (located) => this.#parts.locate(located, origin))
    return { kind: 'ended', response }
  }

  #refused(thrown: unknown, answered: Answered): Ended {
    const refusal = explain(thrown, this.#parts.env.log)
    const response = encodeFault(refusal, answered)
    if (!this.#parts.calls.hasToldOf(refusal)) this.#report(response)
    return { kind: 'ended', response, refusal }
  }

  /** Logs failures that are not the outcome of a call. The engine's observers log those. */
  #report(response: ToolExecutionResponse): void {
    const metadata = failureMetadata(response)
    if (metadata) this.#parts.env.log.info(metadata, failureLine(response))
  }

  /** Stores the trace and the attempt for later polls. A trace id that is not a W3C id is stored nowhere else. */
  async #remember(caller: Caller, requestId: string, job: Job, expiresAt: number | undefined): Promise<void> {
    const { trace, attempt } = job
    if (trace.trace_id === '' && trace.span_id === '' && attempt === 1) return
    await this.#parts.records.put(this.#jobKey(caller, requestId), JSON.stringify(job), expiresAt)
  }

  async #recall(caller: Caller, requestId: string): Promise<Job> {
    const kept = await this.#parts.records.get(this.#jobKey(caller, requestId))
    return kept === undefined ? { trace: { trace_id: '', span_id: '' }, attempt: 1 } : (JSON.parse(kept) as Job)
  }

  #jobKey({ tenant, issuer, subject }: Caller, requestId: string): string {
    return `contract-job/${this.#parts.env.digest(JSON.stringify([tenant, issuer, subject, requestId]))}`
  }
}

function isEnded(reply: Reply): reply is EndedReply {
  return reply.state === 'complete' || reply.state === 'error'
}

function stillRunning({ requestId, model, retryAfterMs }: RunningReply, { name }: Operation): EndedReply {
  const message = `${name.full} is still running. Send the same request again: it joins the running call.`
  return {
    requestId,
    model,
    state: 'error',
    fault: new Fault('unavailable', message, {
      code: 'STILL_RUNNING',
      retryable: true,
      retryAfterMs,
      details: { still_running: true },
    }),
  }
}
