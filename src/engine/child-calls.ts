/** Calls that a handler makes: with the same caller and session, and stopped with the call that made them. */

import { type Call, correlate } from '../core/call/call.ts'
import type { ChildOptions } from '../core/call/context.ts'
import type { Reply } from '../core/call/reply.ts'
import { Fault } from '../core/fault.ts'
import type { JsonValue } from '../core/json.ts'
import { isKeyed } from '../core/operation/keyed.ts'
import type { Environment } from '../core/ports/runtime.ts'
import type { Store } from '../core/ports/store.ts'
import type { Admission } from './admit/admission.ts'
import { type Admitted, OVERRUN_RETENTION_MS } from './admit/admitted.ts'
import type { Job } from './attempt/job.ts'
import { replyTo } from './end/replies.ts'
import { hasEnded, watchFor } from './follow/waiting.ts'
import type { RunOptions } from './record/recorder.ts'
import type { Registry } from './registry.ts'
import type { Worker } from './run/worker.ts'

const MAX_DEPTH = 16

export interface ChildCallParts {
  registry: Registry
  store: Store
  env: Environment
  admission: Admission
  worker: Worker
  /** Runs or records an admitted call. */
  run(admitted: Admitted, options: RunOptions): Reply | Promise<Reply>
}

export class ChildCalls {
  readonly #parts: ChildCallParts

  constructor(parts: ChildCallParts) {
    this.#parts = parts
  }

  /** Waits for the outcome. */
  async call(
    parent: Job,
    position: number,
    name: string,
    args: unknown,
    options: ChildOptions,
    signal: AbortSignal,
    begun: () => void,
  ): Promise<unknown> {
    const { registry, env, admission } = this.#parts
    const lineage = lineageBelow(parent, name)
    const operation = registry.resolve(name, env.clock.now())
    const call: Call = {
      operation: name,
      args: asJson(args ?? {}),
      media: [],
      requestId: env.newId(),
      lineage,
      calledBy: parent.id,
      ...askingBelow(parent),
      // Derived from the parent's id, so that a second attempt of the parent joins the child call of the first one.
      ...(isKeyed(operation) && { idempotencyKey: options.idempotencyKey ?? `${parent.id}.${position}` }),
    }
    correlate(call, { ...parent, ...options, parentId: parent.requestId })
    const caller = await admission.admit(operation, () => parent.caller, name)
    // Child calls can use the secrets of their parent. They are not held for an approval, because the parent would keep
    // its slot, and its time would run, until a person decides.
    const given = parent.given && { given: parent.given }
    const admitted = await admission.validate(operation, caller, call, { hold: false, ...given })
    begun()
    const running = this.#parts.run(admitted, { holdMs: OVERRUN_RETENTION_MS, child: true, client: { signal } })
    const ended = Promise.resolve(running).then((reply) => this.#untilEnded(admitted, reply))
    return resultOf(await this.#unlessStopped(ended, admitted, signal))
  }

  /** Stops waiting when the parent is stopped. If the parent is canceled, its child is canceled too. */
  async #unlessStopped(ended: Promise<Reply>, child: Admitted, signal: AbortSignal): Promise<Reply> {
    const { env } = this.#parts
    let stop = () => {}
    const stopped = new Promise<never>((_, reject) => {
      stop = () => {
        const why = signal.reason
        if (why instanceof Fault && why.kind === 'canceled') {
          this.#stopChild(child, why).catch((err) => env.log.warn({ err }, 'could not stop a child call'))
        }
        reject(why)
      }
    })
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([ended, stopped])
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /**
   * Looks the child up by its request id, because a second attempt of the parent may have joined the child of the first
   * one.
   */
  async #stopChild({ id, caller, owner, call }: Admitted, why: Fault): Promise<void> {
    const { store, worker } = this.#parts
    const found = await store.find(caller.tenant, owner, call.requestId)
    const child = found?.id ?? id
    if (worker.stopAttempt(child, why)) return
    await store.requestStop(child)
    worker.stopAnywhere(child, why)
  }

  async #untilEnded({ caller, owner, call }: Admitted, reply: Reply): Promise<Reply> {
    if (reply.state === 'complete' || reply.state === 'error') return reply
    const { store } = this.#parts
    const found = await store.find(caller.tenant, owner, call.requestId)
    if (!found) throw new Fault('timeout', `${call.operation} expired before it ended.`)
    const watching = watchFor(store, found.id, hasEnded)
    try {
      const current = await store.get(found.id)
      return replyTo(current && hasEnded(current) ? current : await watching.found, 0)
    } finally {
      watching.stop()
    }
  }
}

/** The ancestors of a child call. Throws a fault if the calls are nested too deeply. */
export function lineageBelow(parent: Job, name: string): readonly string[] {
  const lineage = [...parent.lineage, parent.operation.key]
  if (lineage.length <= MAX_DEPTH) return lineage
  const message = `Operations call each other more than ${MAX_DEPTH} deep: ${lineage.join(' → ')} → ${name}.`
  throw new Fault('internal', message, { code: 'CALL_TOO_DEEP' })
}

/** A parent ends with the questions of its child, and both run again with the answers. */
function askingBelow({ asking }: Job): Pick<Call, 'asking'> {
  return asking ? { asking: { kinds: asking.kinds, answers: asking.answers } } : {}
}

/** Converts a value as a wire would: a Date becomes a string, not an empty object. */
function asJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value))
}

function resultOf(reply: Reply): unknown {
  if (reply.state === 'error') throw reply.fault
  if ('result' in reply) return reply.result
  return 'location' in reply ? reply.location : undefined
}
