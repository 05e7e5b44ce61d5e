/** What of the store's words JSON cannot say as they are. */
import type { Claim, OpenCounts } from '../../core/ports.ts'

/** Without `operations` they are those of the last claim on this channel. */
export interface ClaimMessage extends Omit<Claim, 'operations' | 'slots'> {
  operations?: readonly string[]
  slots?: readonly (readonly [string, number])[]
}

export interface EncodedCounts {
  queued: number
  byOwner: readonly (readonly [string, number])[]
  byOperation: readonly (readonly [string, number])[]
}

export function encodeCounts({ queued, byOwner, byOperation }: OpenCounts): EncodedCounts {
  return { queued, byOwner: [...byOwner], byOperation: [...byOperation] }
}

export function decodeCounts({ queued, byOwner, byOperation }: EncodedCounts): OpenCounts {
  return { queued, byOwner: new Map(byOwner), byOperation: new Map(byOperation) }
}
