/** What the application injects into every handler's context. */

import type { HandlerContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { Job } from '../../engine/attempt/job.ts'

/** A record, so that a new context field does not compile until it is reserved here. */
const OWN: Record<keyof HandlerContext, true> = {
  caller: true,
  requestId: true,
  sessionId: true,
  parentId: true,
  locale: true,
  traceparent: true,
  signal: true,
  attempt: true,
  key: true,
  log: true,
  media: true,
  userId: true,
  progress: true,
  authorization: true,
  reauthorize: true,
  secret: true,
  canAsk: true,
  ask: true,
  say: true,
  fail: true,
  call: true,
  object: true,
  chunks: true,
  location: true,
}

export function createInjector(source: unknown): ((job: Job) => object | Promise<object>) | undefined {
  if (source === undefined) return undefined
  if (typeof source !== 'function') {
    const problem = problemIn(source)
    if (problem !== undefined) throw new Fault('malformed', problem)
    return () => source as object
  }
  return async (job) => {
    const context: unknown = await source({ caller: job.caller, requestId: job.requestId })
    const problem = problemIn(context)
    // At this point it is a server error: it goes to the log, because the caller cannot fix it.
    if (problem !== undefined) throw new Error(problem)
    return context as object
  }
}

function problemIn(context: unknown): string | undefined {
  if (typeof context !== 'object' || context === null) return 'The injected "context" must be an object.'
  const taken = Object.keys(context).find((key) => Object.hasOwn(OWN, key))
  if (taken === undefined) return undefined
  return `The injected "context" cannot have "${taken}": Callplane sets that field in every handler's context. Rename it.`
}
