/**
 * `tools/call`: finds the operation by its tool name, calls the engine, and waits as the client's revision requires.
 */

import type { Call } from '../../../core/call.ts'
import { ANONYMOUS, type Caller } from '../../../core/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { isKeyed } from '../../../core/keyed.ts'
import type { Operation } from '../../../core/operation.ts'
import type { CallOptions, Calls } from '../../../core/ports/calls.ts'
import type { Catalog, Tools } from '../../../core/ports/catalog.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'
import { type Answers, type Questions, questionsIn } from '../../../core/questions.ts'
import type { Reply } from '../../../core/reply.ts'
import { NOTHING_GIVEN } from '../../../core/requirements.ts'
import { explain } from '../../../wire/explain.ts'
import { visibleTo } from '../../../wire/strangers.ts'
import { normalizeTraceparent } from '../../../wire/traceparent.ts'
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
import type { ClientReplies } from '../asking/client-replies.ts'
import { completed, encodeValue, encodeValueText, hasEnded, type RunningReply } from '../codec.ts'
import { encodeFailure, invalidParams, isResultOnCall, missingScopes, STILL_RUNNING } from '../faults.ts'
import { type CheckParamHeaders, createParamHeaderCheck } from '../headers.ts'
import { encodeLocated, type LocateParts } from '../located.ts'
import { ResultText } from '../rpc.ts'
import { Hearing, type Level } from '../sessions/hearing.ts'
import { takeAttachments } from '../tools/attachments.ts'
import { type RpcMessage, TASKS } from '../wire.ts'
import { CallingOff } from './calling-off.ts'
import { followProgress } from './progress.ts'
import { type Overran, RunningCalls } from './running-calls.ts'
import type { Tasks } from './tasks.ts'

export interface CallParts extends LocateParts {
  calls: Calls
  catalog: Catalog
  tools: Tools
  env: Environment
  /** Stores the calls that a model has to repeat to get the result. */
  records: Records
  /** Operations that ever had a call running longer than the wait. Default: a new set. */
  overran?: Overran
  /** How long to wait for a call if the client does not support tasks. */
  holdMs: number
  /** Replies of clients that are asked during the call. */
  replies: ClientReplies
  /** Minimum level of the handler's log messages that this client gets. `undefined`: it gets none. */
  levelFor(asked: Asked): Level | undefined | Promise<Level | undefined>
  /** Operations that only clients with tasks may call. */
  tasksOnly: ReadonlySet<string>
}

/** A running `tools/call` request. */
interface Underway {
  asked: Asked
  caller: Caller
  operation: Operation
  name: string
  args: JsonObject
  /** Set if this request joined an earlier call that the model had to repeat. */
  joined?: true
  /** The client's answers during the call. */
  answers?: Answers
  heard?: Hearing
  /** Set if the client can continue the call later: it has a task, or has to repeat the call. */
  told?: true
}

/** The outcome, or questions that must be answered first. */
type Step = Outcome | { questions: Questions }

/** Stops a loop with a client whose answers are never valid. */
const MAX_ROUNDS = 20

export class ToolCalls {
  readonly #parts: CallParts
  readonly #tasks: Tasks
  readonly #running: RunningCalls
  readonly #callingOff: CallingOff
  readonly #checkHeaders: CheckParamHeaders = createParamHeaderCheck()

  constructor(parts: CallParts, tasks: Tasks) {
    this.#parts = parts
    this.#tasks = tasks
    this.#running = new RunningCalls(parts.env, parts.records, parts.overran)
    this.#callingOff = new CallingOff(parts)
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
    if (this.#parts.tasksOnly.has(operation.name.full) && !takesTasks(asked)) {
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
      const reply = this.#start(underway)
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

  #start(underway: Underway): Reply | Promise<Reply> {
    const { asked, caller, operation, args } = underway
    const key = idempotencyKeyOf(asked)
    const asksAgain = key === undefined && !takesTasks(asked)
    const joining = asksAgain ? this.#running.find(caller, operation, args) : undefined
    if (!joining && operation.media.length === 0) return this.#run(underway, key)
    return this.#startLater(underway, key, joining)
  }

  async #startLater(
    underway: Underway,
    key: string | undefined,
    joining: Promise<string | undefined> | undefined,
  ): Promise<Reply> {
    const requestId = await joining
    const joined = requestId === undefined ? undefined : await this.#join(underway, requestId)
    if (joined) return joined
    const { operation, args, asked } = underway
    if (operation.media.length === 0) return this.#run(underway, key)
    const { calls, objects } = this.#parts
    const identify = () => asked.caller
    // A caller without permission must not fill the disk.
    await calls.admit(operation.name.full, identify)
    const attached = await takeAttachments(operation, args, await calls.newCallId(identify), objects)
    return this.#run(underway, key, attached)
  }

  /** Returns the state of the call that this request repeats. `undefined` if it has expired. */
  async #join(underway: Underway, requestId: string): Promise<Reply | undefined> {
    const { caller, operation, args } = underway
    try {
      const reply = await this.#parts.calls.poll(caller, requestId)
      underway.joined = true
      // The client repeats its own call as instructed, so it may also cancel it.
      if (!hasEnded(reply)) this.#stopIfCalledOff(underway, requestId)
      return reply
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'not-found') throw thrown
      await this.#running.forget(caller, operation, args)
      return undefined
    }
  }

  #run(
    underway: Underway,
    sentKey: string | undefined,
    attached?: Pick<Call, 'args' | 'media' | 'uploads'>,
  ): Reply | Promise<Reply> {
    const { asked, operation, args, answers, heard } = underway
    const { calls, env } = this.#parts
    const requestId = env.newId()
    const call: Call = { operation: operation.name.full, args, media: [], requestId }
    if (attached) Object.assign(call, attached)
    // A request without a key is a new call. The generated key is for the engine's retries.
    const key = sentKey ?? (isKeyed(operation) ? requestId : undefined)
    if (key !== undefined) call.idempotencyKey = key
    const traceparent = normalizeTraceparent(asked.client.header?.('traceparent'))
    if (traceparent !== undefined) call.traceparent = traceparent
    const tasks = takesTasks(asked)
    const asking = askingOf(asked, env)
    if (asking) {
      const known = { ...asking, answers: { ...asking.answers, ...answers } }
      call.asking = tasks ? { ...known, waits: true } : known
    }
    const options: CallOptions = {
      client: asked.client,
      recorded: () => this.#stopIfCalledOff(underway, requestId),
    }
    if (tasks) options.hold = true
    if (heard) options.given = { ...NOTHING_GIVEN, hear: heard.hear }
    return calls.call(call, () => asked.caller, options)
  }

  #stopIfCalledOff(underway: Underway, requestId: string): void {
    this.#callingOff.watch(underway.asked, requestId, () => underway.told === true)
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

/** Sends the handler's log messages before the result. Later messages are dropped. */
function withHeard(outcome: Outcome, heard: Hearing): Outcome {
  if ('stream' in outcome) return { stream: heardThrough(outcome.stream, heard) }
  const said = heard.take()
  heard.close()
  return said.length === 0 ? outcome : { stream: answeredAfter(said, outcome.result) }
}

async function* answeredAfter(said: readonly RpcMessage[], result: object): AsyncGenerator<RpcMessage, object> {
  yield* said
  return result
}

async function* heardThrough(
  stream: AsyncGenerator<RpcMessage, object>,
  heard: Hearing,
): AsyncGenerator<RpcMessage, object> {
  try {
    const result = yield* stream
    yield* heard.take()
    return result
  } finally {
    heard.close()
  }
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
