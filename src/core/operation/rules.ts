/** The data of an operation: what its developer declares, the registry publishes, and the engine applies. */

import type { ExecutionModel } from '../call/instance.ts'
import type { Requirements } from './requirements.ts'

export interface MediaSlot {
  name: string
  required?: boolean
  acceptedTypes: readonly string[]
  maxBytes: number
}

export const RISKS = ['low', 'medium', 'high', 'critical'] as const

export type Risk = (typeof RISKS)[number]

export interface RetryRules {
  /** Maximum number of attempts; 1 means no retry. */
  attempts: number
  backoffMs?: number
  maxBackoffMs?: number
  jitter?: 'none' | 'full' | 'equal'
}

/** A failure that an operation declares: callers learn its code, its meaning and what to do. */
export interface DeclaredError {
  /** What the code means. */
  description: string
  /** What the caller can do about it. */
  remedy?: string
  /** The default of `ctx.fail` for this code (default: false). */
  retryable?: boolean
}

/** The limits a call runs under. */
export interface EffectiveTerms {
  /** Limit of one attempt. */
  timeoutMs?: number
  retry: RetryRules
}

/** The data of an operation: what the registry publishes and the engine applies. */
export interface OperationRules {
  description?: string
  title?: string
  /** Full version (default: `N.0.0` for `vN:`). */
  version?: string
  model?: ExecutionModel
  sideEffecting?: boolean
  /** Default: the value of `sideEffecting`. */
  idempotencyRequired?: boolean
  /** Longest wait for a direct response of a sync operation. */
  maxSyncMs?: number
  /** How long the outcome is kept for callers (default: 0 for sync, 86,400 for async). */
  ttlSeconds?: number
  /** Limit of one attempt. */
  timeoutMs?: number
  /** Limit of all attempts together, including the waits between them but not the wait for an approval. */
  deadlineMs?: number
  retry?: RetryRules
  /** Capabilities, for policies: `network.read`, `data.write`. */
  capabilities?: readonly string[]
  /** Risk level (default: low). High and critical run in a sandbox, unless a policy says otherwise. */
  risk?: Risk
  scopes?: readonly string[]
  /** Callable without authentication. */
  public?: boolean
  /** For the server's own operations: the handler only waits, and takes no slot. */
  slotless?: boolean
  /** Visible only to callers with its scopes, and never offered as a tool. */
  internal?: boolean
  /** False if tool-shaped protocols leave the operation out (default: true). */
  tool?: boolean
  media?: readonly MediaSlot[]
  /** The result is bytes, produced and fetched in pieces. */
  chunked?: ChunkedRule
  cache?: { policy: 'none' } | { policy: 'server'; ttlSeconds: number } | { policy: 'location' }
  /** Maximum number of concurrent runs on one node. */
  concurrency?: number
  deprecated?: { sunset?: string; replacement?: string }
  /** The codes of the business failures that callers should expect. Other codes stay allowed. */
  errors?: Readonly<Record<string, DeclaredError>>
  /** Requirements that the caller must meet, such as a person's authorization. */
  requires?: Requirements
}

/** The media type of every result, or `true` if each call sets its own with `ctx.chunks(...)`. */
export type ChunkedRule = { mimeType: string } | true
