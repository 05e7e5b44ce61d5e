/** Combines the decisions of all guards about a call. The strictest decision applies. */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Decision, Guard } from '../../core/ports/guard.ts'

const STRICTNESS: Record<Decision['verdict'], number> = { allow: 0, hold: 1, deny: 2 }

interface Question {
  caller: Caller
  operation: Operation
  /** The arguments as sent. */
  args: JsonValue
  /** The arguments as the handler receives them. A schema may add defaults or convert a string to a number. */
  parsed: unknown
}

/** Asks the guards in order. Returns a promise only if a guard does. */
export function decideAll(
  guards: readonly Guard[],
  question: Question,
  from = 0,
  soFar?: Decision,
): Decision | undefined | Promise<Decision | undefined> {
  let strictest = soFar
  for (let at = from; at < guards.length; at++) {
    const answer = askOne(guards[at] as Guard, question)
    if (answer instanceof Promise)
      return answer.then((said) => decideAll(guards, question, at + 1, stricter(strictest, said)))
    strictest = stricter(strictest, answer)
  }
  return strictest
}

/** Asks about both forms of the arguments, so that a caller cannot evade a rule by sending the other form. */
function askOne(
  guard: Guard,
  { caller, operation, args, parsed }: Question,
): Decision | undefined | Promise<Decision | undefined> {
  const sent = guard.decide?.(caller, operation, args)
  const received = parsed === args ? undefined : guard.decide?.(caller, operation, parsed as JsonValue)
  if (sent instanceof Promise || received instanceof Promise)
    return Promise.all([sent, received]).then(([one, other]) => stricter(one || undefined, other || undefined))
  return stricter(sent || undefined, received || undefined)
}

function stricter(one: Decision | undefined, other: Decision | undefined): Decision | undefined {
  if (!one || !other) return one ?? other
  return STRICTNESS[other.verdict] > STRICTNESS[one.verdict] ? other : one
}

export function denied(operation: Operation, { rule, reason, retryable = false, fault }: Decision): Fault {
  if (fault) return fault
  return new Fault('forbidden', reason ?? `The policy does not allow you to call ${operation.name.full}.`, {
    code: 'POLICY_DENIED',
    retryable,
    details: rule === undefined ? {} : { policy_ref: policyIn(rule), rule },
  })
}

/** In `policy.yaml#no-deletes` the policy is the part before the `#`. */
function policyIn(rule: string): string {
  return rule.split('#', 1)[0] as string
}
