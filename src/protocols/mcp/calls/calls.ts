/**
 * `tools/call`: finds the operation by its tool name, calls the engine, and waits as the client's revision requires.
 */

import { ANONYMOUS, type Caller } from '../../../core/call/caller.ts'
import { type Questions, questionsIn } from '../../../core/call/questions.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import { explain } from '../../../wire/explain.ts'
import { visibleTo } from '../../../wire/strangers.ts'
import {
  type Asked,
  elicits,
  idempotencyKeyOf,
  type Outcome,
  progressTokenOf,
  takesTasks,
  textParam,
} from '../asking/asked.ts'
import { askingOf, inputRequestsOf, inputRequired, lacksCapability } from '../asking/asking.ts'
import { authorizationRequests, declinedAuthorization, withAddresses } from '../asking/authorizing.ts'
import { completed, encodeValue, encodeValueText, hasEnded, type RunningReply } from '../codec.ts'
import { encodeFailure, invalidParams, isResultOnCall, missingScopes, STILL_RUNNING } from '../faults.ts'
import { type CheckParamHeaders, createParamHeaderCheck } from '../headers.ts'
import { encodeLocated } from '../located.ts'
import { ResultText } from '../rpc.ts'
import { Hearing, type Level } from '../sessions/hearing.ts'
import { type RpcMessage, TASKS } from '../wire.ts'
import { withHeard } from './heard.ts'
import { followProgress } from './progress.ts'
import { RunningCalls } from './running-calls.ts'
import { CallStarts } from './starting.ts'
import type { Tasks } from './tasks.ts'
import type { CallParts, Step, Underway } from './underway.ts'

/** Stops a loop with a client whose answers are never valid. */
const MAX_ROUNDS = 20

export class ToolCalls {
  readonly #parts: CallParts
  readonly #tasks: Tasks
  readonly #running: RunningCalls
  readonly #starts: CallStarts
  readonly #checkHeaders: CheckParamHeaders = createParamHeaderCheck()

  constructor(parts: CallParts, tasks: Tasks) {
    this.#parts = parts
    this.#tasks = tasks
    this.#running = new RunningCalls(parts.env, parts.records, parts.overran)
    this.#starts = new CallStarts(parts, this.#running)
  }

  /** This method and those below create a promise only if they have to wait, because most calls end synchronously. */
  call(asked: Asked): Outcome | Promise<Outcome> {
    const name = textParam(asked, 'name')
    const { arguments: args = {} } = asked.params
    if (!isJsonObject(args)) throw invalidParams('"arguments" must be an object.')
    const operation = this.#resolve(name, asked.caller)
    if (asked.generation === 'stateless' && asked.client.header) {
      this.#checkHeaders((header) => asked.client.header?.(header), operation, args)
    }
    const tasksOnly = operation.stream !== undefined || this.#parts.tasksOnly.has(operation.name.full)
    if (tasksOnly && !takesTasks(asked)) {
      throw lacksCapability({ extensions: { [TASKS]: {} } })
    }
    const underway: Underway = { asked, caller: asked.caller ?? ANONYMOUS, operation, name, args }
    const level = this.#parts.levelFor(asked)
    if (level instanceof Promise) return level.then((known) => this.#proceed(underway, known))
    return this.#proceed(underway, level)
  }

  /** `level` is the minimum level of the handler's log messages that the client gets. */
  #proceed(underway: Underway, level?: Level): Outcome | Promise<Outcome> {
    if (level) underway.heard = new Hearing(level, underway.name)
    const step = this.#step(underway)
    return step instanceof Promise ? step.then((taken) => this.#tell(taken, underway)) : this.#tell(step, underway)
  }

  #tell(step: Step, underway: Underway): Outcome {
    const outcome = 'questions' in step ? this.#ask(step.questions, underway) : step
    return underway.heard ? withHeard(outcome, underway.heard) : outcome
  }

  #step(underway: Underway): Step | Promise<Step> {
    try {
      const declined = declinedAuthorization(underway.asked, underway.operation)
      if (declined) throw declined
      const reply = this.#starts.start(underway)
      const ended = reply instanceof Promise ? undefined : this.#result(reply, underway)
      return ended ?? this.#finish(reply, underway)
    } catch (thrown) {
      return this.#failure(thrown, underway)
    }
  }

  async #finish(replying: Reply | Promise<Reply>, underway: Underway): Promise<Step> {
    try {
      const reply = await replying
      return this.#result(reply, underway) ?? (await this.#answer(reply, underway))
    } catch (thrown) {
      return this.#failure(thrown, underway)
    }
  }

  /** Returns the result of a call that has ended and was not joined. */
  #result(reply: Reply, { asked: { generation }, joined }: Underway): Step | undefined {
    if (reply.state !== 'complete' || !('result' in reply) || joined) return undefined
    const text = encodeValueText(reply.result, generation)
    if (text !== undefined) return { result: new ResultText(text) }
    return { result: completed(encodeValue(reply.result, generation), generation) }
  }

  /** A stateless client repeats the call with the answers. A client of the older revisions is asked during the call. */
  #ask(questions: Questions, underway: Underway): Outcome {
    const { asked } = underway
    if (asked.generation === 'stateless') return { result: inputRequired(questions, asked, this.#parts.env) }
    const kinds = askingOf(asked, this.#parts.env)?.kinds ?? []
    const answerable = asked.client.hears && Object.values(questions).every(({ kind }) => kinds.includes(kind))
    return answerable ? { stream: this.#converse(questions, underway) } : { result: encodeFailure(unasked(underway)) }
  }

  async *#converse(questions: Questions, underway: Underway): AsyncGenerator<RpcMessage, object> {
    let open = questions
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { replies } = this.#parts
      if (underway.heard) yield* underway.heard.take()
      try {
        underway.answers = { ...underway.answers, ...(yield* replies.ask(inputRequestsOf(open), underway.asked)) }
      } catch (thrown) {
        return encodeFailure(this.#explain(thrown))
      }
      const step = await this.#step(underway)
      if ('questions' in step) open = step.questions
      else return 'stream' in step ? yield* step.stream : step.result
    }
    return encodeFailure(unasked(underway))
  }

  #resolve(name: string, caller: Caller | undefined): Operation {
    const { tools, env } = this.#parts
    const operation = visibleTo(caller, tools.byName(name, env.clock.now()))
    if (operation) return operation
    throw new Fault('unknown-operation', `There is no tool "${name.slice(0, 100)}". Use tools/list to see all tools.`)
  }

  async #answer(reply: Reply, underway: Underway): Promise<Step> {
    const { asked, heard } = underway
    if (hasEnded(reply)) return this.#encodeEnd(reply, underway)
    if (takesTasks(asked)) {
      underway.told = true
      return { result: this.#tasks.created(reply) }
    }
    const token = asked.client.hears ? progressTokenOf(asked) : undefined
    const { calls, env, holdMs } = this.#parts
    const following = followProgress(reply, token, {
      replies: (signal) => calls.watch(underway.caller, reply.requestId, signal),
      clock: env.clock,
      holdMs,
      presence: asked.client.signal,
    })
    if (token !== undefined || heard) {
      return { stream: this.#streamed(heard ? heard.among(following) : following, underway) }
    }
    for (;;) {
      const step = await following.next()
      if (step.done) return this.#settle(step.value, underway)
    }
  }

  async *#streamed(
    following: AsyncGenerator<RpcMessage, Reply>,
    underway: Underway,
  ): AsyncGenerator<RpcMessage, object> {
    const settled = await this.#settle(yield* following, underway)
    const step = 'questions' in settled ? this.#ask(settled.questions, underway) : settled
    return 'stream' in step ? yield* step.stream : step.result
  }

  /** Returns the outcome, or how to get it later. */
  async #settle(reply: Reply, underway: Underway): Promise<Step> {
    const { caller, operation, args, name, asked } = underway
    if (hasEnded(reply)) return this.#encodeEnd(reply, underway)
    if (asked.client.calledOff?.aborted) {
      if (underway.joined) await this.#running.forget(caller, operation, args)
      return { result: completed(encodeFailure(new Fault('canceled', 'The call was canceled.')), asked.generation) }
    }
    underway.told = true
    await this.#running.remember(caller, operation, args, reply.requestId, reply.expiresAt)
    return { result: completed(encodeFailure(stillRunning(name, reply)), asked.generation) }
  }

  async #encodeEnd(reply: Exclude<Reply, RunningReply>, underway: Underway): Promise<Step> {
    const { caller, operation, args, asked } = underway
    // After the client got the outcome, the same arguments start a new call.
    const byKey = idempotencyKeyOf(asked) !== undefined && this.#running.overran(operation)
    if (underway.joined || byKey) await this.#running.forget(caller, operation, args)
    if (reply.state === 'error') return this.#failure(reply.fault, underway)
    const result =
      'result' in reply ? encodeValue(reply.result, asked.generation) : await encodeLocated(reply, this.#parts)
    return { result: completed(result, asked.generation) }
  }

  async #failure(thrown: unknown, underway: Underway): Promise<Step> {
    const { asked } = underway
    const fault = this.#explain(thrown)
    const questions = questionsIn(fault)
    if (questions) return { questions }
    if (fault.kind === 'requirements-missing') return { result: advise(fault, asked) }
    // The client can get a credential with more scopes. The model need not know about it.
    const grantable = missingScopes(fault) !== undefined && asked.client.header !== undefined
    if (grantable || !isResultOnCall(fault)) throw fault
    return { result: completed(encodeFailure(fault), asked.generation) }
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log)
  }
}

/** Tells how the user can give the missing authorization: the client asks if it can, otherwise the model. */
function advise(fault: Fault, asked: Asked): object {
  const inputRequests =
    asked.generation === 'stateless' && elicits(asked, 'url') ? authorizationRequests(fault) : undefined
  if (inputRequests) return { resultType: 'input_required', inputRequests }
  return completed(encodeFailure(withAddresses(fault)), asked.generation)
}

/** For the model: the client cannot ask its user, or did not answer. */
function unasked({ name }: Underway): Fault {
  const message = `${name} has questions that this client does not support or did not answer. Use a client that supports them.`
  return new Fault('requirements-missing', message, { code: 'INPUT_REQUIRED' })
}

function stillRunning(name: string, { progress, retryAfterMs }: RunningReply): Fault {
  const percent = progress ? ` (${Math.round(progress.fraction * 100)} % done)` : ''
  const message = `${name} is still running${percent}. Call it again with exactly the same arguments to get its result. This joins the running call.`
  return new Fault('unavailable', message, { code: STILL_RUNNING, retryable: true, retryAfterMs })
}
