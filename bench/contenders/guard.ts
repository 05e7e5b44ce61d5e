/** Evaluates a policy for calls, without an engine. */

import { completeOperation } from '../../src/core/operation/defaults.ts'
import type { Decision } from '../../src/core/ports/guard.ts'
import { operation } from '../../src/index.ts'
import { prepareSchemas } from '../../src/schemas/index.ts'
import { createPolicyGuard } from '../../src/security/policy/guard.ts'
import { parsePolicy } from '../../src/security/policy/parse.ts'
import type { Contender } from './contender.ts'
import { callerAt, operationNames, policyOf } from './policies.ts'
import { createRepeater } from './repeat.ts'

export const start: Contender = async ({ rules = 0, mix = 'mixed' }) => {
  const guard = createPolicyGuard(parsePolicy(policyOf(rules, mix)))
  const operations = operationNames().map((name) => {
    const definition = operation(name, { run: () => null })
    return completeOperation(definition, prepareSchemas(definition), { kind: 'handler', execute: () => null })
  })
  const decide = (index: number) => {
    const asked = operations[index % operations.length] as (typeof operations)[number]
    const decision = guard.decide?.(callerAt(index), asked, { a: index, b: 1 }) as Decision | undefined
    if (decision?.verdict !== 'allow') throw new Error(`The policy says ${JSON.stringify(decision)}.`)
  }
  return { port: 0, work: createRepeater(decide), close: async () => {} }
}
