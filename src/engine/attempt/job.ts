/** The input of an attempt: its call, and the parts that all attempts of a node share. */

import type { CallTerms, MediaInput } from '../../core/call/call.ts'
import type { Caller } from '../../core/call/caller.ts'
import type { ChildOptions } from '../../core/call/context.ts'
import type { Asking } from '../../core/call/questions.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { Given } from '../../core/operation/requirements.ts'
import type { Authorizations } from '../../core/ports/guard.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Observer, Outbox } from '../../core/ports/observer.ts'
import type { Fetcher } from '../../core/ports/outbound.ts'
import type { Siblings } from '../../core/ports/peers.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Credentials, Shown } from '../../core/ports/secrets.ts'
import type { Subscriptions } from '../stream/subscriptions.ts'

/** The part of a call that an attempt needs. */
export interface Job {
  /** The id of the instance, also for a call that is not recorded. It is the same for all attempts. */
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
  /** The questions that the caller supports, and its answers so far. */
  asking?: Asking
  /** Secrets and tokens sent with the call. After a loss, only the ids of those that are gone. */
  given?: Given
}

/** The parts that all attempts of a node share. */
export interface AttemptParts {
  env: Environment
  objects: ObjectStore
  fetcher: Fetcher
  observer?: Observer
  /** Absent if there are no subscribers to the ends of calls. */
  outbox?: Outbox
  /** Returns what the application adds to every context. */
  inject?: (job: Job) => object | Promise<object>
  /** Absent if no provider is configured. */
  authorizations?: Authorizations
  /** Absent if no source of secrets is configured. */
  credentials?: Credentials
  shown?: Shown
  /** The streams that run on this node. Absent where no stream can run. */
  streams?: Subscriptions
  /** Absent if the server is one process. */
  siblings?: Siblings
  /** Runs a child call for a handler. Calls `begun` when the child call can no longer be refused. */
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
   * How long a handler that still runs after the end of its attempt delays the next attempt of the same call. Also how
   * long a handler may still return a result during a shutdown.
   */
  stopGraceMs: number
}
