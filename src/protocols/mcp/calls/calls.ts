/** `tools/call`: the name picks the operation and the engine does everything else. What is left is who waits, and how. */

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
import { completed, encodeValue, hasEnded, type RunningReply } from '../codec.ts'
import { encodeFailure, invalidParams, isResultOnCall, missingScopes, STILL_RUNNING } from '../faults.ts'
import { type CheckParamHeaders, createParamHeaderCheck } from '../headers.ts'
import { encodeLocated, type LocateParts } from '../located.ts'
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
  /** Remembers which calls a model was told to ask for again. */
  records: Records
  /** Operations of which a call was ever left running; its own unless given. */
  overran?: Overran
  /** How long a call is waited for on behalf of a client that cannot come back for it. */
  holdMs: number
  /** For clients that are asked while they wait. */
  replies: ClientReplies
  /** From which level on this client hears what a handler says, if it does. */
  levelFor(asked: Asked): Level | undefined | Promise<Level | undefined>
  /** Operations that are for clients with tasks only. */
  tasksOnly: ReadonlySet<string>
}

/** A call on its way: what was asked for, by whom. */
interface Underway {
  asked: Asked
  caller: Caller
  operation: Operation
  name: string
  args: JsonObject
  /** It is one that was asked for before, and the model was told to ask again. */
  joined?: true
  /** What the client has answered while it waits. */
  answers?: Answers
  heard?: Hearing
  /** The client knows how to go on with the call: it has a task, or was told to ask again. */
  told?: true
}

/** What has come of it so far: an answer, or questions that come before one. */
type Step = Outcome | { questions: Questions }

/** A client that answers without ever saying anything of use is not asked for ever. */
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

  /** A promise only where there is something to wait for, here and below: most calls end at once. */
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
    const level = asked.client.hears ? this.#parts.levelFor(asked) : undefined
    if (level instanceof Promise) return level.then((known) => this.#proceed(underway, known))
    return this.#proceed(underway, level)
  }

  /** `level`: from which on the client hears what the handler says. */
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

  /** Of a call that has one and was not asked for before. */
  #result(reply: Reply, { asked: { generation }, joined }: Underway): Step | undefined {
    if (reply.state !== 'complete' || !('result' in reply) || joined) return undefined
    return { result: completed(encodeValue(reply.result, generation), generation) }
  }

  /** The client sends the call again with the answers; one of the older revisions is asked while it waits. */
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
    throw new Fault(
      'unknown-operation',
      `There is no tool "${name.slice(0, 100)}" here. tools/list says which there are.`,
    )
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
    // Nobody fills the disk who may not call it.
    await calls.admit(operation.name.full, identify)
    const attached = await takeAttachments(operation, args, await calls.newCallId(identify), objects)
    return this.#run(underway, key, attached)
  }

  /** The call that these arguments ask for again; nothing if it has expired. */
  async #join(underway: Underway, requestId: string): Promise<Reply | undefined> {
    const { caller, operation, args } = underway
    try {
      const reply = await this.#parts.calls.poll(caller, requestId)
      underway.joined = true
      // The client was told to ask again: it goes on with the call that it started.
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
    const call: Call = { operation: operation.name.full, args, media: [], requestId, ...attached }
    // A client that names no key means a new call; the key is for the engine's own retries.
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

  /** The end, or how to ask for it. */
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
    // Told once, it is done with: the same arguments now mean a new call.
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
    // What a better credential would allow is for the client to get, not for the model to know of.
    const grantable = missingScopes(fault) !== undefined && asked.client.header !== undefined
    if (grantable || !isResultOnCall(fault)) throw fault
    return { result: completed(encodeFailure(fault), asked.generation) }
  }

  #explain(thrown: unknown): Fault {
    return explain(thrown, this.#parts.env.log)
  }
}

/** Where the person gives what is missing: put to them by the client if it can, else by the model. */
function advise(fault: Fault, asked: Asked): object {
  const inputRequests =
    asked.generation === 'stateless' && elicits(asked, 'url') ? authorizationRequests(fault) : undefined
  if (inputRequests) return { resultType: 'input_required', inputRequests }
  return completed(encodeFailure(withAddresses(fault)), asked.generation)
}

/** What was said comes before the answer; after it, nobody listens. */
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

/** For the model: the client cannot put the question to anybody. */
function unasked({ name }: Underway): Fault {
  const message = `${name} has questions to its caller that this client cannot be asked, or did not answer. Use a client that can be.`
  return new Fault('requirements-missing', message, { code: 'INPUT_REQUIRED' })
}

function stillRunning(name: string, { progress, retryAfterMs }: RunningReply): Fault {
  const percent = progress ? ` (${Math.round(progress.fraction * 100)} % done)` : ''
  const message = `${name} is still running${percent}. Call it again with exactly the same arguments for its result: that joins this call and starts nothing twice.`
  return new Fault('unavailable', message, { code: STILL_RUNNING, retryable: true, retryAfterMs })
}
