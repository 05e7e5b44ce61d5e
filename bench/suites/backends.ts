/** The cost that the engine adds to a remote tool, to a sandboxed tool and to a call under a policy. */

import { measurePolicy } from './backends-policy.ts'
import { measureRemote } from './backends-remote.ts'
import { measureWasm } from './backends-wasm.ts'
import type { Settings, Suite } from './suite.ts'

export const backends: Suite = async (settings: Settings) => {
  const parts = [await measureRemote(settings), await measureWasm(settings), await measurePolicy(settings)]
  return { rows: parts.flatMap(({ rows }) => rows), goals: parts.flatMap(({ goals }) => goals) }
}
