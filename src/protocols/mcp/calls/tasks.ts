/**
 * The Tasks extension. A task is a recorded call, and its id is the call's request id. So a task survives a restart,
 * only its caller can see it, and its outcome does not change until it expires.
 */

import { ANONYMOUS, type Caller } from '../../../core/call/caller.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { hasScope, SCOPES } from '../../../core/operation/scopes.ts'
import type { Calls, PendingApproval } from '../../../core/ports/calls.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import { type Asked, elicits, type Outcome, takesTasks, textParam } from '../asking/asked.ts'
import { inputRequestsOf } from '../asking/asking.ts'
import { completed, encodeValue, hasEnded, type RunningReply } from '../codec.ts'
import { encodeError, encodeFailure, invalidParams } from '../faults.ts'
import { encodeLocated, type LocateParts } from '../located.ts'
import { notification } from '../rpc.ts'
import { includes } from '../sessions/hearing.ts'
import {
  type CallToolResult,
  type DetailedTask,
  type InputRequests,
  type RpcMessage,
  TASKS,
  type Task,
  type TaskStatus,
} from '../wire.ts'
import type { TaskFrames } from './task-frames.ts'
import type { CallParts } from './underway.ts'

export interface TaskParts extends LocateParts, Pick<CallParts, 'streams' | 'levelFor' | 'holdMs'> {
  calls: Calls
  env: Environment
}

/** The operation that decides approvals. */
const DECIDE = 'v1:callplane.approvals.decide'
/** The level of the log messages that are frames. */
const FRAME_LEVEL = 'info'
/** Key of the approval question of a task. */
const APPROVAL = 'approval'

export class Tasks {
  readonly #parts: TaskParts

  constructor(parts: TaskParts) {
    this.#parts = parts
  }

  /**
   * Encodes the response of `tools/call` if it creates a task. The call is already stored, so the next request finds
   * it.
   */
  created(reply: RunningReply): object {
    return { resultType: 'task', ...this.#taskOf(reply, 'working') }
  }

  /** If the client wants log messages, it gets the frames of a stream that runs here, and then the state of the task. */
  async get(asked: Asked): Promise<Outcome> {
    const { caller = ANONYMOUS, reply, taskId } = await this.#find(asked)
    const frames = hasEnded(reply) ? undefined : this.#parts.streams.of(caller, taskId)
    const level = frames && (await this.#parts.levelFor(asked))
    if (frames && level && includes(level, FRAME_LEVEL)) return { stream: this.#told(frames, asked) }
    return { result: await this.#got(reply, asked) }
  }

  async #got(reply: Reply, asked: Asked): Promise<object> {
    return { resultType: 'complete', ...(await this.#detail(reply, asked.caller, asked)) }
  }

  /** Sends frames until the stream ends, or as long as a client may wait for a response. */
  async *#told(frames: TaskFrames, asked: Asked): AsyncGenerator<RpcMessage, object> {
    const enough = new AbortController()
    const cancel = this.#parts.env.clock.schedule(this.#parts.holdMs, () => enough.abort())
    try {
      for await (const data of frames.listen(AbortSignal.any([enough.signal, asked.client.signal]))) {
        yield notification('notifications/message', { level: FRAME_LEVEL, logger: textParam(asked, 'taskId'), data })
      }
    } finally {
      cancel()
    }
    return this.#got((await this.#find(asked)).reply, asked)
  }

  /** Ignores answers to questions that the task does not have or no longer has, because the client may be late. */
  async update(asked: Asked): Promise<object> {
    const { inputResponses } = asked.params
    if (!isJsonObject(inputResponses)) throw invalidParams('tasks/update needs the object "inputResponses".')
    const { caller, reply, taskId } = await this.#find(asked)
    if (hasEnded(reply)) return { resultType: 'complete' }
    if (reply.questions) await this.#parts.calls.answer(caller, taskId, inputResponses)
    const approval = await this.#approvalOf(reply, caller)
    const answer = inputResponses[APPROVAL]
    if (approval && maySelfApprove(approval, caller) && isJsonObject(answer))
      await this.#decide(caller, approval, answer)
    return { resultType: 'complete' }
  }

  /** Only acknowledges the request. The next `tasks/get` returns how the task ended. */
  async cancel(asked: Asked): Promise<object> {
    const { caller, taskId } = await this.#find(asked)
    await this.#parts.calls.cancel(caller, taskId)
    return { resultType: 'complete' }
  }

  async #find(asked: Asked): Promise<{ caller: Caller | undefined; taskId: string; reply: Reply }> {
    if (!takesTasks(asked)) throw capabilityMissing()
    const taskId = textParam(asked, 'taskId')
    const { caller } = asked
    if (startOf(taskId) === undefined) throw unknownTask(taskId)
    try {
      return { caller, taskId, reply: await this.#parts.calls.poll(caller, taskId) }
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === 'not-found') throw unknownTask(taskId)
      throw thrown
    }
  }

  async #detail(reply: Reply, caller: Caller | undefined, asked: Asked): Promise<DetailedTask> {
    if (!hasEnded(reply)) return this.#running(reply, caller, asked)
    if (reply.state === 'error') {
      const { fault } = reply
      if (fault.kind === 'canceled') return { ...this.#taskOf(reply, 'cancelled'), statusMessage: fault.message }
      // A tool that reports an error has completed. Only an internal error is a failed task.
      if (fault.kind === 'internal') return { ...this.#taskOf(reply, 'failed'), error: encodeError(fault) }
      return this.#completed(reply, encodeFailure(fault))
    }
    if ('result' in reply) return this.#completed(reply, encodeValue(reply.result, 'stateless'))
    return this.#completed(reply, await encodeLocated(reply, this.#parts))
  }

  /** The result is what `tools/call` would have returned, so it has its own `resultType`. The official client needs it. */
  #completed(reply: Reply, result: CallToolResult): DetailedTask {
    return { ...this.#taskOf(reply, 'completed'), result: completed(result, 'stateless') }
  }

  async #running(reply: RunningReply, caller: Caller | undefined, asked: Asked): Promise<DetailedTask> {
    const questions = reply.questions && (await this.#parts.calls.questions(caller, reply.requestId))
    if (questions) {
      // The progress message does not describe the question.
      const { progress: _before, ...asks } = reply
      return { ...this.#taskOf(asks, 'input_required'), inputRequests: inputRequestsOf(questions) }
    }
    const approval = await this.#approvalOf(reply, caller)
    const inputRequests = approval && this.#questionFor(approval, caller, asked)
    if (inputRequests) return { ...this.#taskOf(reply, 'input_required'), inputRequests }
    return this.#taskOf(reply, 'working')
  }

  async #approvalOf({ approvalId }: RunningReply, caller: Caller | undefined): Promise<PendingApproval | undefined> {
    if (approvalId === undefined) return undefined
    return this.#parts.calls.pendingApproval((caller ?? ANONYMOUS).tenant, approvalId)
  }

  /**
   * Returns a form for a caller who may approve the call, and for other callers the address of the approval's status.
   */
  #questionFor(approval: PendingApproval, caller: Caller | undefined, asked: Asked): InputRequests | undefined {
    const { operation, reason, tenant, id } = approval
    const name = operation.split('@', 1)[0]
    const why = reason === undefined ? '' : ` (${reason})`
    if (maySelfApprove(approval, caller) && elicits(asked, 'form')) {
      const approve = { type: 'boolean', title: `Let ${name} run` }
      const requestedSchema = { type: 'object', properties: { approve }, required: ['approve'] }
      const message = `${name} needs an approval${why}. May it run with these arguments: ${JSON.stringify(approval.args)}${filesOf(approval)}?`
      return { [APPROVAL]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } }
    }
    if (!elicits(asked, 'url')) return undefined
    const url = asked.client.origin + this.#parts.calls.approvalPath(tenant, id)
    const message = `${name} needs another person's approval${why}. This address shows the decision.`
    return { [APPROVAL]: { method: 'elicitation/create', params: { mode: 'url', message, url } } }
  }

  /** Calls the administrators' operation with the caller's own scopes. */
  async #decide(caller: Caller | undefined, { id }: PendingApproval, { action, content }: JsonObject): Promise<void> {
    const { calls, env } = this.#parts
    const approve = action === 'accept' && isJsonObject(content) ? content.approve : false
    if (action === 'cancel' || typeof approve !== 'boolean') return
    const args = { id, verdict: approve ? 'approve' : 'deny' }
    const requestId = env.newId()
    const reply = await calls.call(
      { operation: DECIDE, args, media: [], requestId, idempotencyKey: requestId },
      () => caller,
    )
    if (reply.state === 'error') throw reply.fault
  }

  #taskOf(reply: Reply, status: TaskStatus): Task {
    const { requestId, expiresAt, usage } = reply
    const startedAt = startOf(requestId) ?? this.#parts.env.clock.now()
    const progress = hasEnded(reply) ? undefined : reply.progress
    const updatedAt = progress ? this.#parts.env.clock.now() : startedAt + (usage?.durationMs ?? 0)
    return {
      taskId: requestId,
      status,
      ...(progress?.message !== undefined && { statusMessage: progress.message }),
      createdAt: new Date(startedAt).toISOString(),
      lastUpdatedAt: new Date(updatedAt).toISOString(),
      ttlMs: expiresAt === undefined ? null : Math.max(1, expiresAt - startedAt),
      ...(!hasEnded(reply) && { pollIntervalMs: reply.retryAfterMs }),
    }
  }
}

/** Lists the files for the approver. The hash identifies the bytes. */
function filesOf({ attachments = [] }: PendingApproval): string {
  if (attachments.length === 0) return ''
  const files = attachments.map(
    ({ name, mimeType, bytes, sha256 }) => `${name} (${mimeType}, ${bytes} bytes, SHA-256 ${sha256})`,
  )
  return ` and these files: ${files.join(', ')}`
}

function maySelfApprove({ selfApproval }: PendingApproval, caller: Caller | undefined): boolean {
  return selfApproval && caller !== undefined && hasScope(caller, SCOPES.approve)
}

const UUID_7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Reads the start time from a generated id (UUIDv7). `undefined` for any other id. */
function startOf(taskId: string): number | undefined {
  const match = UUID_7.exec(taskId)
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) : undefined
}

function unknownTask(taskId: string): Fault {
  return invalidParams(`You have no task "${taskId.slice(0, 100)}", or it has expired.`)
}

function capabilityMissing(): Fault {
  return new Fault('malformed', `Declare the extension ${TASKS} in the client capabilities of this request.`, {
    code: 'CAPABILITY_MISSING',
    details: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
  })
}
