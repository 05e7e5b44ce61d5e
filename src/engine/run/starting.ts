/** Starts an attempt of a recorded call for which this node holds the lease and a slot. */

import { type Instance, startsOf } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import { copyJson, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Given } from '../../core/operation/requirements.ts'
import { Attempt } from '../attempt/attempt.ts'
import type { AttemptRun } from '../attempt/attempt-run.ts'
import type { AttemptParts } from '../attempt/job.ts'
import type { Conclusions } from '../end/conclusions.ts'
import { faultOutcome, leaseLost } from '../end/end-faults.ts'
import type { Limits } from '../limits/limits.ts'
import type { CallSecrets } from '../wait/call-secrets.ts'
import { type LeaseParts, stillLeased } from './old-lease.ts'
import { jobOf } from './running.ts'
import type { RunningCalls } from './running-calls.ts'
import { showingOf } from './shown-credentials.ts'
import { giveBackUnbegun } from './unbegun-calls.ts'

export interface StartingParts {
  attempts: AttemptParts
  limits: Limits
  conclusions: Conclusions
  running: RunningCalls
  secrets: CallSecrets
  lease: LeaseParts
}

/** The delay before a call is claimed again after a failure of the server itself. */
export const LOOK_AGAIN_MS = 1_000

export class Starting {
  readonly #parts: StartingParts

  constructor(parts: StartingParts) {
    this.#parts = parts
  }

  /** `args` avoids parsing the arguments a second time. */
  start(instance: Instance, operation: Operation, args?: { parsed: unknown }): void {
    const given = this.#parts.secrets.of(instance)
    if (given instanceof Promise) void this.#startUnsealing(given, instance, operation)
    else this.#startWith(given, instance, operation, args)
  }

  /** For a call that another process accepted, or this one before a restart: its secrets are in the store. */
  async #startUnsealing(
    given: Promise<Given | Fault | undefined>,
    instance: Instance,
    operation: Operation,
  ): Promise<void> {
    const { attempts, lease } = this.#parts
    const { clock, log } = attempts.env
    try {
      const secrets = await given
      if (await stillLeased(lease, instance)) this.#startWith(secrets, instance, operation)
      else await this.#leave(instance, operation, leaseLost())
    } catch (err) {
      log.error({ operation: operation.key, err }, "could not read the call's secrets; trying again")
      await this.#leave(instance, operation, Fault.from(err), clock.now() + LOOK_AGAIN_MS)
    }
  }

  async #leave(instance: Instance, operation: Operation, why: Fault, dueAt?: number): Promise<void> {
    const { attempts, limits } = this.#parts
    limits.ended(operation, instance)
    // A stream is not claimed again: its reader is here.
    if (operation.stream) attempts.streams?.ended(instance.id, faultOutcome(why))
    await giveBackUnbegun(this.#parts, instance, dueAt)
  }

  #startWith(
    given: Given | Fault | undefined,
    recorded: Instance,
    operation: Operation,
    args?: { parsed: unknown },
  ): void {
    const { attempts, conclusions, running } = this.#parts
    const instance = conclusions.withFingerprint(recorded)
    const job = jobOf(instance, operation)
    const run = this.#runOf(instance, operation)
    const attempt = new Attempt(
      given && !(given instanceof Fault) ? { ...job, given } : job,
      startsOf(instance),
      attempts,
      run,
    )
    running.watch(attempt, instance, operation)
    if (given instanceof Fault) attempt.refuse(given)
    else if (args) attempt.start(args.parsed)
    else void parseAndStart(attempt, instance, operation)
  }

  #runOf(instance: Instance, operation: Operation): AttemptRun | undefined {
    const { id, failures, extras, waiting, answer } = instance
    const { backend } = operation
    if (failures === 0 && !extras && !backend.resume) return undefined
    const endsAt = Math.min(
      extras?.tryEndsAt ?? Number.POSITIVE_INFINITY,
      extras?.deadlineAt ?? Number.POSITIVE_INFINITY,
    )
    return {
      failures,
      ...(Number.isFinite(endsAt) && { endsAt }),
      ...(extras?.deadlineAt !== undefined && { deadlineAt: extras.deadlineAt }),
      ...(waiting !== undefined && { waiting }),
      ...(answer !== undefined && { answer }),
      ...(backend.resume && { expectAnswer: (more) => this.#expectAnswer(id, more) }),
      ...showingOf(this.#parts.attempts, instance, operation),
    }
  }

  async #expectAnswer(id: string, waiting: JsonValue): Promise<void> {
    const { conclusions, lease } = this.#parts
    const running = this.#parts.running.get(id)
    if (!running) throw leaseLost()
    running.instance = await conclusions.expectAnswer(running.instance, waiting, running.attempt, lease.leaseMs)
  }
}

/**
 * Arguments are stored as received and parsed at each attempt, so that the current schema applies its defaults and
 * transforms. From a copy: a handler may change its arguments.
 */
async function parseAndStart(attempt: Attempt, instance: Instance, operation: Operation): Promise<void> {
  try {
    const args = await operation.parseArgs(copyJson(instance.args))
    if (attempt.stoppedBy) attempt.refuse(attempt.stoppedBy)
    else attempt.start(args)
  } catch (thrown) {
    attempt.refuse(Fault.from(thrown))
  }
}
