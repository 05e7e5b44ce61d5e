/** The last message of a stream, for carriers that have a channel for it beside the frames. */
import type { Fault } from '../../core/fault.ts'
import { encodeFault } from './faults.ts'

export function encodeStreamEnd(requestId: string, fault?: Fault): string {
  return JSON.stringify(
    fault ? { requestId, state: 'error', error: encodeFault(fault) } : { requestId, state: 'complete' },
  )
}
