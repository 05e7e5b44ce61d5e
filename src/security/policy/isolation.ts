/** Requires a sandbox for operations of high or critical risk, unless a policy makes it optional. */
import { Fault } from '../../core/fault.ts'
import type { Risk } from '../../core/operation/rules.ts'
import type { Backend } from '../../core/ports/backend.ts'
import type { Decision, Guard } from '../../core/ports/guard.ts'
import type { IsolationNeed } from './policy.ts'

/** The isolation settings of a policy. */
export interface IsolationRules {
  readonly name: string
  readonly isolation: Readonly<Record<'high' | 'critical', IsolationNeed>>
}

/** An operation, or all tools of an import. */
export interface Placed {
  readonly name: { readonly full: string }
  readonly risk: Risk
  readonly backend: Pick<Backend, 'kind' | 'isolated'>
}

/** For servers without a policy: the safe default. */
const UNSPOKEN: IsolationRules = { name: 'callplane', isolation: { high: 'required', critical: 'required' } }

/** The guard of a server without a policy. */
export const isolationGuard: Guard = {
  concerns: (operation) => wantOfIsolation(operation) !== undefined,
  decide(_caller, operation) {
    return wantOfIsolation(operation)
  },
}

/**
 * Returns the denial of a risky operation that would not run in a sandbox. A handler runs in the server's own process,
 * so it is never in one.
 */
export function wantOfIsolation({ name, risk, backend }: Placed, rules = UNSPOKEN): Decision | undefined {
  const harmful = risk === 'high' || risk === 'critical'
  if (!harmful || backend.isolated || rules.isolation[risk] === 'optional') return undefined
  const rule = `${rules.name}#isolation.${risk}`
  const line = `isolation: { ${risk}: optional }`
  const leave =
    rules === UNSPOKEN ? `start the server with a policy: "default: allow", "${line}"` : `add "${line}" to the policy`
  const reason = `${name.full} has risk ${risk} and must run in a sandbox, and "${backend.kind}" is not one. Run it in a container or as wasm, lower its risk, or ${leave}.`
  const fault = new Fault('isolation-unavailable', reason, { details: { risk, backend: backend.kind, rule } })
  return { verdict: 'deny', rule, reason, fault }
}
