/** Ends calls: writes the outcome with all records that belong to it, then frees what this node held for the call. */

import { type Instance, isQueued, type Outcome } from '../../core/call/instance.ts'
import { questionsIn } from '../../core/call/questions.ts'
import type { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { RecordChange } from '../../core/ports/store.ts'
import type { AttemptParts } from '../attempt/job.ts'
import type { Conclusions } from '../end/conclusions.ts'
import type { Limits } from '../limits/limits.ts'
import type { Registry } from '../registry.ts'
import { stoppedUnrun } from '../stream/stream-ends.ts'
import { abandon } from '../wait/abandon.ts'
import type { HeldCalls } from '../wait/held-calls.ts'
import type { AwaitedCalls } from './awaited-calls.ts'
import { isHeld } from './running.ts'
import { showsAndWaits } from './shown-credentials.ts'

export interface CallEndsParts {
  attempts: AttemptParts
  registry: Registry
  limits: Limits
  conclusions: Conclusions
  awaited: AwaitedCalls
  held: HeldCalls
}

export class CallEnds {
  readonly #parts: CallEndsParts

  constructor(parts: CallEndsParts) {
    this.#parts = parts
  }

  /** Ends a call whose lease this node holds. */
  end(instance: Instance, operation: Operation, outcome: Outcome, acted: boolean, traceparent?: string): Promise<void> {
    return this.#end(instance, operation, outcome, acted, false, traceparent)
  }

  /** Ends a call that this node has claimed, and does not start. `acted`: an earlier attempt may have had an effect. */
  endUnbegun(instance: Instance, operation: Operation, outcome: Outcome, acted: boolean): Promise<void> {
    return this.#end(instance, operation, outcome, acted, true)
  }

  #end(
    instance: Instance,
    operation: Operation,
    outcome: Outcome,
    acted: boolean,
    unbegun: boolean,
    traceparent?: string,
  ): Promise<void> {
    const { limits, conclusions, awaited } = this.#parts
    const direct = awaited.end(instance.id)
    const asks = outcome.kind === 'fault' && questionsIn(outcome.fault) !== undefined
    const shows = showsAndWaits(operation)
    const together = asks || isHeld(instance) || shows ? () => this.#records(instance, asks, shows) : undefined
    const ending = conclusions.end(instance, operation, outcome, { acted, direct, unbegun, traceparent, together })
    return ending.then((applied) => {
      if (applied) limits.closed(instance)
    })
  }

  /** Ends a call that no worker runs. Returns false and changes nothing if a worker has claimed it since. */
  async endUnrun(seen: Instance, why: Fault): Promise<boolean> {
    const { attempts, registry, limits, conclusions } = this.#parts
    const operation = registry.byKey(seen.operation)
    const shows = operation !== undefined && showsAndWaits(operation)
    const together = isHeld(seen) || shows ? () => this.#records(seen, false, shows) : undefined
    if (!(await conclusions.endUnrun(seen, operation, stoppedUnrun(seen, why), together))) return false
    limits.closed(seen)
    if (isQueued(seen)) limits.dequeued(seen)
    if (operation) abandon(attempts, seen, operation)
    return true
  }

  /**
   * The records to write with the end of a call: they close its approval and remove the credentials that its tool
   * received.
   */
  async #records(instance: Instance, asks: boolean, shows: boolean): Promise<readonly RecordChange[]> {
    const { attempts, held } = this.#parts
    const records = await held.ending(instance, asks)
    return shows ? [...records, ...(attempts.shown?.forgetting(instance.id) ?? [])] : records
  }
}
