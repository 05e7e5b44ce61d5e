/** Operations and callers to ask policies about. */
import type { JsonObject } from '../../src/core/json.ts'
import type { Caller } from '../../src/core/model.ts'
import { type Operation, type OperationRules, operation } from '../../src/core/operation.ts'
import type { Decision } from '../../src/core/ports.ts'
import { completeOperation } from '../../src/core/rules.ts'
import { createPolicyGuard } from '../../src/governance/policy-guard.ts'
import { parsePolicy } from '../../src/governance/policy-parse.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'

export function anOperation(
  name: string,
  rules: Pick<OperationRules, 'capabilities' | 'risk'> = {},
  isolated = false,
): Operation {
  const definition = operation(name, { ...rules, run: () => 'done' })
  const backend = { kind: isolated ? 'wasm' : 'handler', isolated, execute: () => 'done' }
  return completeOperation(definition, prepareSchemas(definition), backend)
}

export function aCaller(subject: string, claims?: JsonObject, issuer = 'https://login.example'): Caller {
  return { tenant: 'main', issuer, subject, scopes: [], ...(claims && { claims }) }
}

/** What the policy decides, as the engine hears it. */
export function decide(
  policy: unknown,
  operation: Operation | string,
  caller: Caller = aCaller('somebody'),
  args: JsonObject = {},
): Decision | undefined {
  const asked = typeof operation === 'string' ? anOperation(operation) : operation
  const decision = createPolicyGuard(parsePolicy(policy)).decide?.(caller, asked, args)
  return decision as Decision | undefined
}
