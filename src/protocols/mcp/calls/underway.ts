/** A `tools/call` request while it runs, and what it needs. */

import type { Caller } from '../../../core/call/caller.ts'
import type { Answers, Questions } from '../../../core/call/questions.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { Operation } from '../../../core/operation/operation.ts'
import type { Calls } from '../../../core/ports/calls.ts'
import type { Catalog, Tools } from '../../../core/ports/catalog.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'
import type { Asked, Outcome } from '../asking/asked.ts'
import type { ClientReplies } from '../asking/client-replies.ts'
import type { LocateParts } from '../located.ts'
import type { Hearing, Level } from '../sessions/hearing.ts'
import type { Overran } from './running-calls.ts'
import type { TaskStreams } from './task-streams.ts'

export interface CallParts extends LocateParts {
  calls: Calls
  catalog: Catalog
  tools: Tools
  env: Environment
  /** Stores the calls that a model has to repeat to get the result. */
  records: Records
  /** Operations that ever had a call running longer than the wait. Default: a new set. */
  overran?: Overran
  /** How long to wait for a call if the client does not support tasks. */
  holdMs: number
  /** Replies of clients that are asked during the call. */
  replies: ClientReplies
  /** Minimum level of the handler's log messages that this client gets. `undefined`: it gets none. */
  levelFor(asked: Asked): Level | undefined | Promise<Level | undefined>
  /** The streams that run as tasks on this node. */
  streams: TaskStreams
  /** Operations that only clients with tasks may call, besides streams. */
  tasksOnly: ReadonlySet<string>
}

/** A running `tools/call` request. */
export interface Underway {
  asked: Asked
  caller: Caller
  operation: Operation
  name: string
  args: JsonObject
  /** Set if this request joined an earlier call that the model had to repeat. */
  joined?: true
  /** The client's answers during the call. */
  answers?: Answers
  heard?: Hearing
  /** Set if the client can continue the call later: it has a task, or has to repeat the call. */
  told?: true
}

/** The outcome, or questions that must be answered first. */
export type Step = Outcome | { questions: Questions }
