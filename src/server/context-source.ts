/** What the application injects into every handler's context. */
import type { Job } from '../core/attempt.ts'
import { Fault } from '../core/fault.ts'

const OWN = [
  'caller', 'requestId', 'sessionId', 'parentId', 'locale', 'traceparent', 'signal', 'attempt', 'key', 'log', 'media',
  'progress', 'fail', 'call', 'object', 'location',
] // biome-ignore format: a list of words

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
    // By now it is a failure of the server, so for its log; whoever calls can do nothing about it.
    if (problem !== undefined) throw new Error(problem)
    return context as object
  }
}

function problemIn(context: unknown): string | undefined {
  if (typeof context !== 'object' || context === null) return 'The injected "context" must be an object.'
  const taken = Object.keys(context).find((key) => OWN.includes(key))
  if (taken === undefined) return undefined
  return `The injected "context" cannot have "${taken}": every handler's context has its own. Rename it.`
}
