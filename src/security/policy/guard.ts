/** Applies a policy to every call: its verdict, and the sandbox requirement for risky operations. */
import { Fault } from '../../core/fault.ts'
import type { Operation } from '../../core/operation/operation.ts'
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
      // A denied caller does not learn how the operation runs, and no approval is requested for a call that could not
      // run.
      return (decision.verdict === 'deny' ? undefined : wantOfIsolation(operation, policy)) ?? decision
    },
  }
}

/**
 * Callplane's own operations need only their scopes: a policy that held them all would leave no way to approve a call.
 */
export function isOwn({ name }: Operation): boolean {
  return name.namespace === 'callplane' || name.namespace?.startsWith('callplane.') === true
}

/**
 * Runs at start. Throws if an operation cannot be used under this policy. Returns the names in rules that match no
 * operation: they may be misspelt, or the operation may be added later.
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
      .map(({ source }) => `${reference} names ${source}, which matches no operation.`),
  )
}
