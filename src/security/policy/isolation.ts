/** What can do harm runs where it cannot: in a sandbox, unless a policy says that it need not. */
import { Fault } from '../../core/fault.ts'
import type { Risk } from '../../core/operation.ts'
import type { Backend } from '../../core/ports/backend.ts'
import type { Decision, Guard } from '../../core/ports/guard.ts'
import type { IsolationNeed } from './policy.ts'

/** What a policy says of it. */
export interface IsolationRules {
  readonly name: string
  readonly isolation: Readonly<Record<'high' | 'critical', IsolationNeed>>
}

/** Of an operation, or of all tools of an import. */
export interface Placed {
  readonly name: { readonly full: string }
  readonly risk: Risk
  readonly backend: Pick<Backend, 'kind' | 'isolated'>
}

/** For servers without a policy: a risk that nobody has spoken about is not taken. */
const UNSPOKEN: IsolationRules = { name: 'callplane', isolation: { high: 'required', critical: 'required' } }

/** In the place of a policy, where there is none. */
export const isolationGuard: Guard = {
  concerns: (operation) => wantOfIsolation(operation) !== undefined,
  decide(_caller, operation) {
    return wantOfIsolation(operation)
  },
}

/** The denial of what would run where it could do harm. A handler is in the server's own process, so in no sandbox. */
export function wantOfIsolation({ name, risk, backend }: Placed, rules = UNSPOKEN): Decision | undefined {
  const harmful = risk === 'high' || risk === 'critical'
  if (!harmful || backend.isolated || rules.isolation[risk] === 'optional') return undefined
  const rule = `${rules.name}#isolation.${risk}`
  const line = `isolation: { ${risk}: optional }`
  const leave =
    rules === UNSPOKEN ? `start the server with a policy: "default: allow", "${line}"` : `add "${line}" to the policy`
  const reason = `${name.full} has risk ${risk} and must run in a sandbox, which "${backend.kind}" is none of. Run it in a container or as wasm, lower its risk, or ${leave}.`
  const fault = new Fault('isolation-unavailable', reason, { details: { risk, backend: backend.kind, rule } })
  return { verdict: 'deny', rule, reason, fault }
}
