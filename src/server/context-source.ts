/** What the application injects into every handler's context. */
import type { Job } from '../core/attempt.ts'
import { Fault } from '../core/fault.ts'

const OWN = [
  'caller', 'requestId', 'sessionId', 'parentId', 'locale', 'traceparent', 'signal', 'attempt', 'key', 'log', 'media',
  'progress', 'fail', 'call', 'object', 'location',
] // biome-ignore format: a list of words

export function createInjector(source: unknown): ((job: Job) => object | Promise<object>) | undefined {
  if (source === undefined) return undefined
  if (typeof source === 'function')
    return async (job) => checked(await source({ caller: job.caller, requestId: job.requestId }))
  const context = checked(source)
  return () => context
}

function checked(context: unknown): object {
  if (typeof context !== 'object' || context === null)
    throw new Fault('malformed', 'The injected "context" must be an object.')
  const taken = Object.keys(context).find((key) => OWN.includes(key))
  if (taken === undefined) return context
  throw new Fault(
    'malformed',
    `The injected "context" cannot have "${taken}": every handler's context has its own. Rename it.`,
  )
}
