/** Decides whose due calls a claim takes: callers take turns, within the slots of operations and the shares of callers. */
import type { Instance } from '../../../core/call/instance.ts'
import type { FairTurns } from '../../../core/fairness/fair-turns.ts'
import { SlotShares } from '../../../core/fairness/slot-shares.ts'
import type { Claim, Claimed } from '../../../core/ports/store.ts'
import { decodeText, encodeText } from '../sql/plain-text.ts'

/** A row of `due`: which call, whose, and where it is. */
export interface Place {
  id: string
  generation: number
  operation: string
  tenant: string
  owner: string
}

export interface Candidate extends Place {
  due_at: number
  /** It waits at this node, and was not read from `due`. */
  waits?: boolean
}

/** A caller with due calls, in the order in which they became due. */
export interface DueCaller {
  tenant: string
  owner: string
  calls: Candidate[]
  /** Operations of which more calls are due than were read. */
  cutOff: Set<string>
}

export function keyOf({ tenant, owner }: { tenant: string; owner: string }): string {
  return `${tenant.length} ${tenant}${owner}`
}

/** Two lists of callers as one, in the order of their first calls. */
export function merged(some: readonly DueCaller[], more: readonly DueCaller[]): readonly DueCaller[] {
  if (more.length === 0) return some
  if (some.length === 0) return inOrder(more)
  const byKey = new Map(some.map((caller) => [keyOf(caller), caller]))
  for (const caller of more) {
    const same = byKey.get(keyOf(caller))
    byKey.set(keyOf(caller), same ? { ...same, calls: [...same.calls, ...caller.calls] } : caller)
  }
  return inOrder([...byKey.values()])
}

/** Callers join the turns in the order of their first calls, and of their names. */
export function inOrder(callers: readonly DueCaller[]): DueCaller[] {
  for (const { calls } of callers) calls.sort((a, b) => a.due_at - b.due_at)
  return callers.toSorted((a, b) => firstDue(a) - firstDue(b) || (keyOf(a) < keyOf(b) ? -1 : 1))
}

export function firstDue({ calls }: DueCaller): number {
  return calls[0]?.due_at ?? 0
}

/** What the claim may still take: slots of operations, and shares of callers. */
export function createBudget({ slots, shares: snapshot, weights, limit }: Claim) {
  const room = new Map([...(slots ?? [])].map(([operation, free]) => [encodeText(operation), free]))
  const shares = snapshot && SlotShares.from(snapshot)
  const promised = new Map<string, Candidate>()
  const who = ({ tenant, owner }: { tenant: string; owner: string }) => ({
    tenant: decodeText(tenant),
    owner: decodeText(owner),
  })
  return {
    weights,
    has: ({ operation }: Candidate) => (room.get(operation) ?? limit) > 0,
    admits: (caller: DueCaller) => !shares || shares.admits(who(caller)),
    take(candidate: Candidate): void {
      promised.set(candidate.id, candidate)
      const left = room.get(candidate.operation)
      if (left !== undefined) room.set(candidate.operation, left - 1)
      shares?.take(who(candidate))
    },
    /** Gives back what was meant for candidates that another node took. */
    confirm(taken: readonly Instance[]): void {
      for (const { id } of taken) promised.delete(id)
      for (const candidate of promised.values()) {
        const left = room.get(candidate.operation)
        if (left !== undefined) room.set(candidate.operation, left + 1)
        shares?.give(who(candidate))
      }
      promised.clear()
    },
  }
}

interface Chosen {
  calls: Candidate[]
  /** The due time of the next call, if the limit was reached. */
  leftAt: number | undefined
  /** A caller has more due calls than were read. */
  wantsMore: boolean
}

export function choose(
  turns: FairTurns<string>,
  callers: readonly DueCaller[],
  room: number,
  budget: ReturnType<typeof createBudget>,
): Chosen {
  const byKey = new Map(callers.map((caller) => [keyOf(caller), caller]))
  for (const caller of callers) if (turns.get(caller) === undefined) turns.add(caller, keyOf(caller))
  const calls: Candidate[] = []
  let leftAt: number | undefined
  let wantsMore = false
  turns.give((key) => {
    const caller = byKey.get(key)
    if (!caller) return 'idle'
    // A call that was not read may be earlier than those that were.
    if (isCutOff(caller)) {
      wantsMore = calls.length > 0
      return wantsMore ? 'enough' : 'blocked'
    }
    if (caller.calls.length === 0) return 'idle'
    const at = caller.calls.findIndex((call) => budget.has(call))
    const candidate = caller.calls[at]
    if (!candidate || !budget.admits(caller)) return 'blocked'
    if (calls.length >= room) {
      leftAt = candidate.due_at
      return 'enough'
    }
    calls.push(candidate)
    caller.calls.splice(at, 1)
    budget.take(candidate)
    return 'used'
  }, budget.weights)
  return { calls, leftAt, wantsMore }
}

/** True if all calls of an operation that were read are used up, and there are more. */
function isCutOff({ calls, cutOff }: DueCaller): boolean {
  for (const operation of cutOff) if (!calls.some((call) => call.operation === operation && !call.waits)) return true
  return false
}

/** The calls that were read and left because their operations have no slot. */
export function lackingIn(callers: readonly DueCaller[], budget: ReturnType<typeof createBudget>): Claimed['lacking'] {
  const counts = new Map<string, number>()
  for (const caller of callers)
    for (const call of caller.calls)
      if (!budget.has(call) && budget.admits(caller)) counts.set(call.operation, (counts.get(call.operation) ?? 0) + 1)
  return counts.size === 0 ? undefined : [...counts].map(([operation, calls]) => [decodeText(operation), calls])
}
