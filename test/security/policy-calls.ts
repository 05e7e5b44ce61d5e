/** Operations and callers for tests of policies. */

import type { Caller } from '../../src/core/call/caller.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { completeOperation } from '../../src/core/operation/defaults.ts'
import { operation } from '../../src/core/operation/define.ts'
import type { Operation } from '../../src/core/operation/operation.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import type { Decision } from '../../src/core/ports/guard.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { createPolicyGuard } from '../../src/security/policy/guard.ts'
import { parsePolicy } from '../../src/security/policy/parse.ts'

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

/** Returns the policy's decision as the engine gets it. */
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
