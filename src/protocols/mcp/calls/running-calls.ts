/**
 * Calls that a model was told to ask for again. A model writes arguments and nothing else, so the same tool with the
 * same arguments is how it asks; once it has been told the outcome, the same again is a new call.
 */

import { type Caller, ownerOf } from '../../../core/caller.ts'
import { canonicalJson, type JsonValue } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'

/** At the least: how long a model may take to come back. */
const KEEP_MS = 600_000

/** By registry key. A server with several processes has one for all of them. */
export type Overran = Pick<Set<string>, 'add' | 'has'>

export class RunningCalls {
  readonly #env: Pick<Environment, 'digest' | 'clock'>
  readonly #records: Records
  /** Operations that leave no record of their own are looked up only if one of theirs was ever left running. */
  readonly #overran: Overran

  constructor(env: Pick<Environment, 'digest' | 'clock'>, records: Records, overran: Overran = new Set()) {
    this.#env = env
    this.#records = records
    this.#overran = overran
  }

  /** The request id of the call that these arguments ask for again. */
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

  /** Whether a call of this operation was ever left running here. */
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
