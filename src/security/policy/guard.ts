/** Puts a policy in front of every call: its verdict, and that what can do harm runs where it cannot. */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import { PolicyEvaluator } from './evaluate.ts'
import { wantOfIsolation } from './isolation.ts'
import type { Policy } from './parse.ts'
import { CAPABILITIES } from './what.ts'

export function createPolicyGuard(policy: Policy): Guard {
  const evaluator = new PolicyEvaluator(policy)
  return {
    decide(caller, operation, args) {
      if (isOwn(operation)) return
      const { decision } = evaluator.evaluate(caller, operation, args)
      // Whoever may not call it need not learn how it runs; and nobody is asked to approve what could not run.
      return (decision.verdict === 'deny' ? undefined : wantOfIsolation(operation, policy)) ?? decision
    },
  }
}

/** Ours are governed by their scopes alone: a policy that held them all would leave nobody to approve anything. */
export function isOwn({ name }: Operation): boolean {
  return name.namespace === 'callplane' || name.namespace?.startsWith('callplane.') === true
}

/**
 * At start: throws if an operation cannot be under this policy. Says which names in rules fit no operation, which may
 * be a slip of the pen, or may be there tomorrow.
 */
export function checkOperations(policy: Policy, operations: readonly Operation[]): readonly string[] {
  const known: readonly string[] = CAPABILITIES
  for (const { name, capabilities } of policy.strict ? operations : []) {
    const other = capabilities.find((capability) => !known.includes(capability))
    if (other === undefined) continue
    throw new Fault(
      'policy-invalid',
      `${name.full} has the capability "${other}", and ${policy.name} is strict. Use ${known.join(', ')}, or leave strict out of the policy.`,
      { details: { operation: name.full, capability: other } },
    )
  }
  return policy.rules.flatMap(({ reference, target }) =>
    target.names
      .filter(({ fits }) => !operations.some(({ name }) => fits(name.full)))
      .map(({ source }) => `${reference} is about ${source}, and there is no such operation.`),
  )
}
