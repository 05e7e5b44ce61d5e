/** Why a protocol of plain tools cannot carry a call: it has JSON in, JSON out, and nothing else. */
import { needsFile } from './tool-names.ts'
import type { Refusal, WireCall } from './wire.ts'

export function refusalOfTools({ entry, tool, attachments = [] }: WireCall): Refusal | undefined {
  if (entry.executionModel === 'stream') return 'stream'
  if (needsFile(entry) || attachments.length > 0) return 'file'
  if (entry.op.startsWith('v1:callplane.')) return 'internal'
  return tool ? undefined : 'no-tool'
}
