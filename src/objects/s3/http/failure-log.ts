/** Logs why requests to S3 fail, because callers are told only that they do. During an outage all of them fail. */
import type { Fault } from '../../../core/fault.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'

/** A failure with the same code is logged again after this time, with the number of those in between. */
const QUIET_MS = 10_000

export function createFailureLog(clock: Pick<Clock, 'monotonicMs'>, log: Pick<Log, 'warn'>): (fault: Fault) => void {
  const last = new Map<string, { atMs: number; unlogged: number }>()
  return ({ code, cause }) => {
    const before = last.get(code)
    const nowMs = clock.monotonicMs()
    if (before && nowMs - before.atMs < QUIET_MS) {
      before.unlogged += 1
      return
    }
    last.set(code, { atMs: nowMs, unlogged: 0 })
    const since = before && before.unlogged > 0 && { unlogged: before.unlogged }
    log.warn({ err: cause, code, ...since }, 'a request to the object storage failed')
  }
}
