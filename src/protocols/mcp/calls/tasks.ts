/**
 * The Tasks extension on what the engine keeps: a task is a recorded call, its id the call's request id. So it outlives
 * the server, it is its caller's alone, and once it has ended it answers the same for as long as it is kept.
 */

import { ANONYMOUS, type Caller } from '../../../core/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Calls, PendingApproval } from '../../../core/ports/calls.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Reply } from '../../../core/reply.ts'
import { hasScope, SCOPES } from '../../../core/scopes.ts'
import { type Asked, elicits, takesTasks, textParam } from '../asking/asked.ts'
import { inputRequestsOf } from '../asking/asking.ts'
import { encodeValue, hasEnded, type RunningReply } from '../codec.ts'
import { encodeError, encodeFailure, invalidParams } from '../faults.ts'
import { encodeLocated, type LocateParts } from '../located.ts'
import {
  type CallToolResult,
  type DetailedTask,
  type InputRequests,
  TASKS,
  type Task,
  type TaskStatus,
} from '../wire.ts'

export interface TaskParts extends LocateParts {
  calls: Calls
  env: Environment
}

/** The operation by which approvals are decided. */
const DECIDE = 'v1:callplane.approvals.decide'
/** The key of the one question a task may have. */
const APPROVAL = 'approval'

export class Tasks {
  readonly #parts: TaskParts

  constructor(parts: TaskParts) {
    this.#parts = parts
  }

  /** What `tools/call` answers instead of a result. The call is on record by now, so that the next request finds it. */
  created(reply: RunningReply): object {
    return { resultType: 'task', ...this.#taskOf(reply, 'working') }
  }

  async get(asked: Asked): Promise<object> {
    const { caller, reply } = await this.#find(asked)
    return { resultType: 'complete', ...(await this.#detail(reply, caller, asked)) }
  }

  /** Answers to questions that the task does not have, or no longer, are let go by: the client may be behind. */
  async update(asked: Asked): Promise<object> {
    const { inputResponses } = asked.params
    if (!isJsonObject(inputResponses)) throw invalidParams('tasks/update needs "inputResponses", as an object.')
    const { caller, reply, taskId } = await this.#find(asked)
    if (hasEnded(reply)) return { resultType: 'complete' }
    if (reply.questions) await this.#parts.calls.answer(caller, taskId, inputResponses)
    const approval = await this.#approvalOf(reply, caller)
    const answer = inputResponses[APPROVAL]
    if (approval && maySelfApprove(approval, caller) && isJsonObject(answer))
      await this.#decide(caller, approval, answer)
    return { resultType: 'complete' }
  }

  /** Says only that it was heard: how the task ended is for the next `tasks/get`. */
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
      // A tool that says what went wrong has done its work; one that breaks has not.
      if (fault.kind === 'internal') return { ...this.#taskOf(reply, 'failed'), error: encodeError(fault) }
      return { ...this.#taskOf(reply, 'completed'), result: encodeFailure(fault) }
    }
    const result: CallToolResult =
      'result' in reply ? encodeValue(reply.result, 'stateless') : await encodeLocated(reply, this.#parts)
    return { ...this.#taskOf(reply, 'completed'), result }
  }

  async #running(reply: RunningReply, caller: Caller | undefined, asked: Asked): Promise<DetailedTask> {
    const questions = reply.questions && (await this.#parts.calls.questions(caller, reply.requestId))
    if (questions) {
      // How far it had come says nothing about what it waits for.
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

  /** A form for whoever may approve it too; for anybody else the address that says whether somebody has. */
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
    const message = `${name} needs somebody's approval${why}. This address says whether it was given.`
    return { [APPROVAL]: { method: 'elicitation/create', params: { mode: 'url', message, url } } }
  }

  /** Under the caller's own scopes, by the operation an administrator would use. */
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

/** Whoever approves sees the files, too: by what they are, since their bytes are bound by their hash. */
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

/** The ids we give to calls begin with their time. Nothing for an id that is none of ours. */
function startOf(taskId: string): number | undefined {
  const match = UUID_7.exec(taskId)
  return match ? Number.parseInt(`${match[1]}${match[2]}`, 16) : undefined
}

function unknownTask(taskId: string): Fault {
  return invalidParams(`There is no task "${taskId.slice(0, 100)}" of yours, or it has expired.`)
}

function capabilityMissing(): Fault {
  return new Fault('malformed', `Declare the extension ${TASKS} in the client capabilities of this request.`, {
    code: 'CAPABILITY_MISSING',
    details: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
  })
}
