import { operation } from '../../src/core/operation/define.ts'
import type { OperationRules } from '../../src/core/operation/rules.ts'
import { Gate } from './node.ts'

/** An operation whose handler hears nothing: each attempt stands at a gate of its own. */
export function createDeaf(rules: OperationRules = {}) {
  const gates = [new Gate<string>(), new Gate<string>(), new Gate<string>()] as const
  let runs = 0
  const deaf = operation('v1:deaf', { ...rules, run: () => gates[runs++]?.pass() } as never)
  return { deaf, gates, runs: () => runs }
}
