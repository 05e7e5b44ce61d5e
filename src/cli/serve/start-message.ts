/** The message when the server listens: for a person with a call to paste, for a program as one line of JSON. */
import type { Operation } from '../../core/operation/operation.ts'
import { sampleCall } from './sample-call.ts'

export interface Started {
  url: string
  operations: readonly Operation[]
  data: string
  authenticated: boolean
  /** The path of the console below `url`, with a one-time code if the person needs one. Absent if it is switched off. */
  console?: string
  /** With several processes: the number of workers, and the pid that takes signals. */
  workers?: { count: number; pid: number }
}

const LOCAL_ONLY = 'accepts connections from this machine only'

/** Without the code of the console: logs are kept, and sent to other places. */
export function startLine({ url, operations, data, authenticated, workers }: Started, now: Date): string {
  const running = workers ? { pid: workers.pid, workers: workers.count } : { pid: process.pid }
  const fields = { url, operations: operations.length, data, authentication: authenticated, ...running }
  const note = authenticated ? {} : { note: `no authentication: ${LOCAL_ONLY}` }
  return JSON.stringify({ level: 'info', time: now.toISOString(), ...fields, ...note, msg: 'listening' })
}

export function startMessage(started: Started): string {
  const { url, operations, data, authenticated, console, workers } = started
  const sample = sampleCall(operations)
  return [
    `Callplane is listening on ${url}`,
    '',
    `  operations      ${operations.length}, listed at ${url}/.well-known/ops`,
    ...(console === undefined ? [] : [`  console         ${url}${console}`]),
    `  data            ${data}`,
    `  authentication  ${authenticated ? 'on' : `off: ${LOCAL_ONLY}`}`,
    ...(workers ? [`  workers         ${workers.count}`] : []),
    '',
    ...(sample ? ['  A first call:', '', `  ${curl(url, sample, authenticated)}`, ''] : []),
  ].join('\n')
}

function curl(url: string, call: object, authenticated: boolean): string {
  const body = JSON.stringify(call).replaceAll("'", "'\\''")
  const credential = authenticated ? ' -H "Authorization: Bearer $CALLPLANE_TOKEN"' : ''
  return `curl -s ${url}/call -H 'Content-Type: application/json'${credential} -d '${body}'`
}
