/** Asks a policy about calls. Denial wins over approval, approval over permission; the order of the rules means nothing. */

import type { Caller } from '../../core/caller.ts'
import type { JsonValue } from '../../core/json.ts'
import type { Operation } from '../../core/operation.ts'
import type { Decision } from '../../core/ports/guard.ts'
import { ClauseIndex } from './clause-index.ts'
import type { Policy, Rule } from './parse.ts'
import type { Effect } from './policy.ts'

export interface Evaluation {
  readonly decision: Decision
  /** By reference. */
  readonly matched: readonly Rule[]
  readonly roles: readonly string[]
}

const VERDICTS: Record<Effect, Decision['verdict']> = { allow: 'allow', deny: 'deny', approve: 'hold' }

export class PolicyEvaluator {
  readonly #policy: Policy
  /** What the rules say of an operation never changes, so of a thousand rules a call meets those about its operation. */
  readonly #rulesAbout = new WeakMap<Operation, ClauseIndex<Rule>>()

  constructor(policy: Policy) {
    this.#policy = policy
  }

  /** `granted` are roles the caller is taken to have besides those the policy gives. */
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

/** Where several rules with one effect match, the strictest of what each of them says counts. */
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
