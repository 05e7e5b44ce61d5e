/** Starts the engine's call for a `tools/call` request, or joins the running call that the request repeats. */

import type { Call } from '../../../core/call/call.ts'
import type { Reply } from '../../../core/call/reply.ts'
import { Fault } from '../../../core/fault.ts'
import { isKeyed } from '../../../core/operation/keyed.ts'
import { NOTHING_GIVEN } from '../../../core/operation/requirements.ts'
import type { CallOptions } from '../../../core/ports/calls.ts'
import { normalizeTraceparent } from '../../../wire/traceparent.ts'
import { idempotencyKeyOf, takesTasks } from '../asking/asked.ts'
import { askingOf } from '../asking/asking.ts'
import { hasEnded } from '../codec.ts'
import { takeAttachments } from '../tools/attachments.ts'
import { CallingOff } from './calling-off.ts'
import type { RunningCalls } from './running-calls.ts'
import type { CallParts, Underway } from './underway.ts'

export class CallStarts {
  readonly #parts: CallParts
  readonly #running: RunningCalls
  readonly #callingOff: CallingOff

  constructor(parts: CallParts, running: RunningCalls) {
    this.#parts = parts
    this.#running = running
    this.#callingOff = new CallingOff(parts)
  }

  /** Creates a promise only if it has to wait. */
  start(underway: Underway): Reply | Promise<Reply> {
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
    const { calls, env, streams } = this.#parts
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
    if (operation.stream) options.stream = streams.wish
    if (heard) options.given = { ...NOTHING_GIVEN, hear: heard.hear }
    return calls.call(call, () => asked.caller, options)
  }

  #stopIfCalledOff(underway: Underway, requestId: string): void {
    this.#callingOff.watch(underway.asked, requestId, () => underway.told === true)
  }
}
