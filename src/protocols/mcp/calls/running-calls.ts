/**
 * Calls that a model has to repeat to get the result. A model only writes arguments, so a repeated call is the same
 * tool with the same arguments. After the model got the outcome, the same arguments start a new call.
 */

import { type Caller, ownerOf } from '../../../core/call/caller.ts'
import { canonicalJson, type JsonValue } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'

/** Minimum time that a model has to repeat the call: ten minutes. */
const KEEP_MS = 600_000

/** Keyed by registry key. All processes of a server share one set. */
export type Overran = Pick<Set<string>, 'add' | 'has'>

export class RunningCalls {
  readonly #env: Pick<Environment, 'digest' | 'clock'>
  readonly #records: Records
  /**
   * For operations whose calls are not recorded, the store is read only if a call of theirs ever outlasted the wait.
   */
  readonly #overran: Overran

  constructor(env: Pick<Environment, 'digest' | 'clock'>, records: Records, overran: Overran = new Set()) {
    this.#env = env
    this.#records = records
    this.#overran = overran
  }

  /** Returns the request id of the call that these arguments repeat. */
  find(caller: Caller, operation: Operation, args: JsonValue): Promise<string | undefined> | undefined {
    const recorded = operation.model === 'async' || operation.sideEffecting
    if (!recorded && !this.#overran.has(operation.key)) return undefined
    return this.#records.get(this.#keyOf(caller, operation, args))
  }

  async remember(
    caller: Caller,
    operation: Operation,
    args: JsonValue,
    requestId: string,
    expiresAt = 0,
  ): Promise<void> {
    this.#overran.add(operation.key)
    const until = Math.max(expiresAt, this.#env.clock.now() + KEEP_MS)
    await this.#records.put(this.#keyOf(caller, operation, args), requestId, until)
  }

  /** True if a call of this operation ever outlasted the wait. */
  overran({ key }: Operation): boolean {
    return this.#overran.has(key)
  }

  async forget(caller: Caller, operation: Operation, args: JsonValue): Promise<void> {
    await this.#records.remove(this.#keyOf(caller, operation, args))
  }

  #keyOf(caller: Caller, { name }: Operation, args: JsonValue): string {
    const asked = canonicalJson([caller.tenant, ownerOf(caller), caller.userId ?? null, name.full, args])
    return `mcp-running/${this.#env.digest(asked)}`
  }
}
