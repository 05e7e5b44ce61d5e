/**
 * Delivers callbacks to the calls that wait for them. A callback is accepted once, for the try in which it first
 * arrived. A tool may repeat credentials that it received, so they are redacted before the callback is stored.
 */

import type { Instance } from '../../core/call/instance.ts'
import { isTerminal } from '../../core/call/state.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { SecretSource, Shown } from '../../core/ports/secrets.ts'
import type { Store } from '../../core/ports/store.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'

export type Delivery = 'taken' | 'answered' | 'other-try' | 'unknown'

interface Parts {
  env: Environment
  store: Pick<Store, 'get' | 'records'>
  registry: Registry
  worker: Worker
  secrets: SecretSource
  shown: Shown
}

const RESOLVE_MS = 10_000

export function createCallbackDesk({ env, store, registry, worker, secrets, shown }: Parts) {
  /**
   * True if the same bytes were delivered in an earlier try. This stops an observer from replaying a signed callback.
   */
  async function isReplayed({ id, failures, expiresAt }: Instance, signed: string): Promise<boolean> {
    const key = `answer/${id}/${env.digest(signed)}`
    if (await store.records.add(key, String(failures), expiresAt)) return false
    // In the same try it is a redelivery after a failure on this side, and must not be lost.
    return (await store.records.get(key)) !== String(failures)
  }

  /**
   * Redacts the credentials that the tool received. If they cannot be read, the callback is refused, and the tool sends
   * it again.
   */
  async function redacted(id: string, operation: Operation | undefined, answer: JsonObject): Promise<JsonValue> {
    const values = operation?.auth ? await recall(id, operation) : []
    const release = values.map((value) => env.conceal(value))
    try {
      return env.redact(answer)
    } finally {
      for (const done of release) done()
    }
  }

  async function recall(id: string, operation: Operation): Promise<readonly string[]> {
    let cause: unknown
    try {
      const values = await shown.recall(id)
      if (values.length > 0) return values
    } catch (err) {
      cause = err
    }
    env.log.error(
      { operation: operation.key, err: cause },
      'refused a callback: could not read the credentials to redact from it',
    )
    throw new Fault('unavailable', 'The callback cannot be accepted now. Send it again in a moment.', {
      retryAfterMs: 5_000,
      cause,
    })
  }

  return {
    async secretFor(id: string): Promise<string | undefined> {
      const instance = await store.get(id)
      const name = instance && registry.byKey(instance.operation)?.backend.callbackSecret
      if (name === undefined) return undefined
      const { value } = await secrets.resolve(name, AbortSignal.timeout(RESOLVE_MS))
      // Released at once: the secret only signs and is never sent.
      if (value !== undefined) env.conceal(value)()
      return value
    },

    async deliver(id: string, answer: JsonObject, signed: string): Promise<Delivery> {
      const instance = await store.get(id)
      if (!instance) return 'unknown'
      if (isTerminal(instance.state) || instance.answer !== undefined) return 'answered'
      const { failures, waiting, operation } = instance
      if (waiting === undefined) return 'unknown'
      const attempt = attemptIn(answer)
      if (attempt !== undefined && attempt !== failures + 1) return 'other-try'
      if (await isReplayed(instance, signed)) return 'answered'
      return worker.deliver(id, await redacted(id, registry.byKey(operation), answer), failures)
    },
  }
}

/** The try that the callback names. Some tools that do not count tries send 0. */
function attemptIn({ usage }: JsonObject): number | undefined {
  const attempt = isJsonObject(usage) ? usage.attempt : undefined
  return typeof attempt === 'number' && attempt > 0 ? attempt : undefined
}
