/** A minimal in-memory store, the model that real stores are compared with. */
import type { Instance } from '../../src/core/call/instance.ts'
import { isTerminal } from '../../src/core/call/state.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import type {
  Acceptance,
  Advanced,
  Alias,
  Change,
  Claim,
  Claimed,
  Created,
  Lease,
  OpenCounts,
  Renewal,
  Taken,
} from '../../src/core/ports/store.ts'

export class StoreModel {
  readonly #instances: Instance[] = []
  readonly #aliases: Alias[] = []
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(id: string): Instance | undefined {
    return this.#instances.find((instance) => instance.id === id)
  }

  #holder(owner: string, requestId: string): Instance | undefined {
    const alias = this.#aliases.find((each) => each.owner === owner && each.requestId === requestId)
    const target = alias && this.get(alias.instanceId)
    if (alias && target) return { ...target, requestId, expiresAt: alias.expiresAt }
    return this.#instances.find((each) => each.owner === owner && each.requestId === requestId)
  }

  find(owner: string, requestId: string): Instance | undefined {
    const instance = this.#holder(owner, requestId)
    return instance && instance.expiresAt > this.#clock.now() ? instance : undefined
  }

  #vacate({ owner, requestId }: Instance, over: string): void {
    const alias = this.#aliases.findIndex((each) => each.owner === owner && each.requestId === requestId)
    if (this.#aliases[alias]?.instanceId === over) this.#aliases.splice(alias, 1)
    const standing = this.get(over)
    if (standing?.owner !== owner || standing.requestId !== requestId) return
    this.#replace({ ...standing, requestId: `yielded:${over}`, revision: standing.revision + 1 })
  }

  accept(instance: Instance, over?: string): Acceptance {
    const { owner, operation, idempotencyKey: key } = instance
    const sameRequest = this.#holder(owner, instance.requestId)
    if (sameRequest && sameRequest.id !== over) return { kind: 'request-id-taken', instance: sameRequest }
    const sameKey = this.#instances.find(
      (each) => key && each.owner === owner && each.operation === operation && each.idempotencyKey === key,
    )
    if (sameKey) return { kind: 'key-taken', instance: sameKey }
    if (over !== undefined) this.#vacate(instance, over)
    this.#instances.push(instance)
    return { kind: 'created' }
  }

  alias(alias: Alias): Created | Taken {
    const taken = this.#holder(alias.owner, alias.requestId)
    if (taken) return { kind: 'request-id-taken', instance: taken }
    this.#aliases.push(alias)
    return { kind: 'created' }
  }

  #replace(instance: Instance): Instance {
    this.#instances[this.#instances.findIndex(({ id }) => id === instance.id)] = instance
    return instance
  }

  claim({ operations, limit, leaseMs }: Claim): Claimed {
    const waiting = () =>
      this.#instances
        .filter(({ dueAt, state }) => dueAt !== undefined && !isTerminal(state))
        .filter(({ operation, expiresAt }) => operations.includes(operation) && expiresAt > this.#clock.now())
        .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0))
    const now = this.#clock.now()
    const due = waiting().filter(({ dueAt = 0 }) => dueAt <= now)
    const instances = due.slice(0, limit).map((each) => {
      const { revision, attempt } = each
      return this.#replace({
        ...each,
        state: each.state === 'streaming' ? 'streaming' : 'pending',
        revision: revision + 1,
        attempt: attempt + 1,
        dueAt: now + leaseMs,
      })
    })
    const nextDueAt = waiting()[0]?.dueAt
    return { instances, ...(nextDueAt !== undefined && { nextDueAt }) }
  }

  extend({ id, attempt }: Lease, leaseMs: number): Renewal {
    const instance = this.get(id)
    const held = instance?.dueAt !== undefined && !isTerminal(instance.state) && instance.attempt === attempt
    if (held) this.#replace({ ...instance, dueAt: this.#clock.now() + leaseMs })
    return { id, attempt, held, stopRequested: instance?.stopRequested ?? false }
  }

  advance(change: Change): Advanced {
    const standing = this.get(change.id)
    if (!standing) return { applied: false }
    const fits = change.from.includes(standing.state) && (change.attempt ?? standing.attempt) === standing.attempt
    if (!fits) return { applied: false, instance: standing }
    const { dueAt: _due, idempotencyKey, waiting, answer, ...kept } = standing
    const waits = change.waiting === undefined ? waiting : (change.waiting ?? undefined)
    const answered = change.waiting === null ? undefined : answer
    const instance = this.#replace({
      ...kept,
      ...(idempotencyKey && !change.releaseKey && { idempotencyKey }),
      state: change.to,
      revision: kept.revision + 1,
      ...(change.outcome && { outcome: change.outcome }),
      ...(change.settled !== undefined && { settled: change.settled }),
      ...(change.failures !== undefined && { failures: change.failures }),
      ...(waits !== undefined && { waiting: waits }),
      ...(answered !== undefined && { answer: answered }),
      ...(change.dueAt !== undefined && { dueAt: change.dueAt }),
    })
    return { applied: true, instance }
  }

  answer(id: string, answer: string): Advanced {
    const standing = this.get(id)
    if (!standing) return { applied: false }
    const { waiting, attempt, settled, revision } = standing
    if (waiting === undefined || standing.answer !== undefined || isTerminal(standing.state))
      return { applied: false, instance: standing }
    const due = attempt === settled && { dueAt: this.#clock.now() }
    return { applied: true, instance: this.#replace({ ...standing, answer, revision: revision + 1, ...due }) }
  }

  progress({ id, attempt }: Lease, fraction: number): void {
    const instance = this.get(id)
    if (!instance || instance.attempt !== attempt || isTerminal(instance.state)) return
    this.#replace({ ...instance, progress: { fraction }, revision: instance.revision + 1 })
  }

  requestStop(id: string): void {
    const instance = this.get(id)
    if (!instance || instance.stopRequested || isTerminal(instance.state)) return
    this.#replace({ ...instance, stopRequested: true, revision: instance.revision + 1 })
  }

  openCounts(): OpenCounts {
    const open = this.#instances.filter(({ state }) => !isTerminal(state))
    const owners = [...Map.groupBy(open, ({ tenant, owner }) => JSON.stringify([tenant, owner]))]
    const byOwner = owners.map(([who, calls]) => [...JSON.parse(who), calls.length] as [string, string, number])
    const operations = [...Map.groupBy(open, ({ operation }) => operation)]
    const byOperation = new Map(operations.map(([name, calls]) => [name, calls.length]))
    const queued = open.filter(({ attempt, extras }) => attempt === 0 && !extras?.held).length
    return { queued, byOwner: byOwner.sort(), byOperation }
  }

  expiring(): string[] {
    const past = this.#instances.filter(({ state, keepUntil }) => isTerminal(state) && keepUntil <= this.#clock.now())
    return past.map(({ id }) => id).sort()
  }

  remove(ids: readonly string[]): void {
    for (const gone of ids) {
      this.#instances.splice(0, Infinity, ...this.#instances.filter(({ id }) => id !== gone))
      this.#aliases.splice(0, Infinity, ...this.#aliases.filter(({ instanceId }) => instanceId !== gone))
    }
  }
}
