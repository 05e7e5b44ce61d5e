/** What an attempt is given: the call it belongs to, and what all attempts of a node share. */

import type { CallTerms, MediaInput } from '../../core/call.ts'
import type { Caller } from '../../core/caller.ts'
import type { ChildOptions } from '../../core/context.ts'
import type { Operation } from '../../core/operation.ts'
import type { Authorizations } from '../../core/ports/guard.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Observer, Outbox } from '../../core/ports/observer.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Credentials, Shown } from '../../core/ports/secrets.ts'
import type { Asking } from '../../core/questions.ts'
import type { Given } from '../../core/requirements.ts'

/** The call an attempt belongs to, as far as the attempt needs to know it. */
export interface Job {
  /** The instance's id, or what would be one: stable over all attempts. */
  id: string
  operation: Operation
  caller: Caller
  requestId: string
  sessionId?: string
  parentId?: string
  locale?: string
  traceparent?: string
  media: readonly MediaInput[]
  lineage: readonly string[]
  terms?: CallTerms
  /** What its caller can be asked, and has answered. */
  asking?: Asking
  /** Handed over with the call; a run after a restart knows only what is gone. */
  given?: Given
}

/** What attempts share on one node. */
export interface AttemptParts {
  env: Environment
  objects: ObjectStore
  fetcher: Fetcher
  observer?: Observer
  /** Absent where nobody is told of calls that end. */
  outbox?: Outbox
  /** What the application injects into every context. */
  inject?: (job: Job) => object | Promise<object>
  /** Absent where no provider is configured. */
  authorizations?: Authorizations
  /** Absent where no place for secrets is configured. */
  credentials?: Credentials
  shown?: Shown
  /** Absent where the server is one process. */
  siblings?: Siblings
  /** Runs a child operation for a handler, and says when it is no longer refused. */
  callChild: (
    parent: Job,
    position: number,
    operation: string,
    args: unknown,
    options: ChildOptions,
    signal: AbortSignal,
    begun: () => void,
  ) => Promise<unknown>
  chunkBytes: number
  maxObjectBytes: number
  /**
   * How long a handler that runs after its attempt has ended holds up the next attempt of the same call, and how long
   * one that is told of a shutdown may still return a result.
   */
  stopGraceMs: number
}
