/**
 * Evaluates a policy for calls. A denial wins over an approval, and an approval over a permission. The order of the
 * rules has no effect.
 */

import type { Caller } from '../../core/call/caller.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Decision } from '../../core/ports/guard.ts'
import { ClauseIndex } from './clause-index.ts'
import type { Policy, Rule } from './parse.ts'
import type { Effect } from './policy.ts'

export interface Evaluation {
  readonly decision: Decision
  /** Sorted by reference. */
  readonly matched: readonly Rule[]
  readonly roles: readonly string[]
}

const VERDICTS: Record<Effect, Decision['verdict']> = { allow: 'allow', deny: 'deny', approve: 'hold' }

export class PolicyEvaluator {
  readonly #policy: Policy
  /**
   * The rules that cover an operation never change. A call is therefore evaluated against those rules only, not all of
   * them.
   */
  readonly #rulesAbout = new WeakMap<Operation, ClauseIndex<Rule>>()

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** `granted` are roles to assume in addition to those that the policy assigns. */
  evaluate(caller: Caller, operation: Operation, args: JsonValue, granted: readonly string[] = []): Evaluation {
    const given = this.#policy.roles.matching({ caller, args, roles: [] })
    const roles = [...new Set([...given, ...granted])].sort()
    const matched = inOrder(this.#about(operation).matching({ caller, args, roles }))
    return { decision: combine(matched, this.#policy), matched, roles }
  }

  #about(operation: Operation): ClauseIndex<Rule> {
    const known = this.#rulesAbout.get(operation)
    if (known) return known
    const rules = this.#policy.rules.filter(({ target }) => target.covers(operation))
    const index = new ClauseIndex(rules.map((rule) => ({ clause: rule.clause, value: rule })))
    this.#rulesAbout.set(operation, index)
    return index
  }
}

function inOrder(matched: Rule[]): Rule[] {
  if (matched.length < 2) return matched
  return [...new Set(matched)].sort((a, b) => (a.reference < b.reference ? -1 : 1))
}

/** If several rules with the same effect match, their settings are combined to the strictest. */
function combine(matched: readonly Rule[], policy: Policy): Decision {
  const effect = strictest(matched)
  if (!effect) return byDefault(policy)
  const rules = matched.filter((rule) => rule.effect === effect)
  const [first] = rules as [Rule]
  const decision: Decision = { verdict: VERDICTS[effect], rule: first.reference }
  if (first.reason !== undefined) decision.reason = first.reason
  if (effect === 'deny' && rules.every(({ retryable }) => retryable)) decision.retryable = true
  if (effect === 'approve') {
    const ttls = rules.flatMap(({ approvalTtlMs }) => approvalTtlMs ?? [])
    if (ttls.length > 0) decision.approvalTtlMs = Math.min(...ttls)
    decision.selfApproval = rules.every(({ selfApproval }) => selfApproval)
  }
  return decision
}

function strictest(matched: readonly Rule[]): Effect | undefined {
  if (matched.some(({ effect }) => effect === 'deny')) return 'deny'
  return matched.some(({ effect }) => effect === 'approve') ? 'approve' : matched[0]?.effect
}

function byDefault({ name, default: effect }: Policy): Decision {
  const decision: Decision = { verdict: VERDICTS[effect], rule: `${name}#default` }
  if (effect === 'deny') decision.reason = 'No rule of the policy allows it.'
  if (effect === 'approve') decision.reason = 'No rule of the policy allows it without an approval.'
  return decision
}
