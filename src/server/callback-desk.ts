/**
 * Takes answers from outside to the calls that wait for them. A tool may repeat what it was shown, so the operation's
 * own credential is resolved once more and taken out before anything is stored.
 */
import type { JsonObject, JsonValue } from '../core/json.ts'
import type { Operation } from '../core/operation.ts'
import type { Credentials, Environment, Store } from '../core/ports.ts'
import type { Registry } from '../core/registry.ts'
import type { Worker } from '../core/worker.ts'
import type { SecretSource } from '../governance/secrets.ts'

interface Parts {
  env: Environment
  store: Pick<Store, 'get'>
  registry: Registry
  worker: Worker
  secrets: SecretSource
  credentials: Credentials
}

const RESOLVE_MS = 10_000

export function createCallbackDesk({ env, store, registry, worker, secrets, credentials }: Parts) {
  const operationOf = async (id: string): Promise<Operation | undefined> => {
    const instance = await store.get(id)
    return instance && registry.byKey(instance.operation)
  }

  /** With what it was shown concealed; a credential that cannot be had now is not in our hands either. */
  async function redacted(operation: Operation | undefined, answer: JsonObject): Promise<JsonValue> {
    const release: (() => void)[] = []
    const conceal = (value: string) => {
      release.push(env.conceal(value))
      return value
    }
    try {
      if (operation?.auth) await credentials.resolve(operation.auth, conceal, AbortSignal.timeout(RESOLVE_MS))
    } catch (err) {
      env.log.warn({ operation: operation?.key, err }, 'the credential of an answered call could not be resolved')
    }
    try {
      return env.redact(answer)
    } finally {
      for (const done of release) done()
    }
  }

  return {
    async secretFor(id: string): Promise<string | undefined> {
      const name = (await operationOf(id))?.backend.callbackSecret
      if (name === undefined) return undefined
      const { value } = await secrets.resolve(name, AbortSignal.timeout(RESOLVE_MS))
      // Not in use for longer than this: it signs, and is never sent.
      if (value !== undefined) env.conceal(value)()
      return value
    },
    async deliver(id: string, answer: JsonObject): Promise<'taken' | 'answered' | 'unknown'> {
      return worker.deliver(id, await redacted(await operationOf(id), answer))
    },
  }
}
