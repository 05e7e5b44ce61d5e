/**
 * Keeps an owner from looking abandoned while its objects are being written. An upload may take hours, and S3 dates its
 * objects only when they are complete, so the owner gets a small object that is written again and again.
 */
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Bucket } from './bucket.ts'
import { EMPTY_HASH } from './http/sigv4.ts'
import type { Keys } from './keys.ts'

/** Call the returned function when the write has ended. */
export type KeepFresh = (owner: string) => () => void

/** A sixth of the sweep's waiting time, so that a few missed writes do no harm. Most uploads end before the first. */
const TOUCH_EVERY_MS = 600_000

export function createFreshness(
  bucket: Bucket,
  keys: Keys,
  clock: Pick<Clock, 'schedule'>,
  log: Pick<Log, 'warn'>,
): KeepFresh {
  return (owner) => {
    let ended = false
    let cancel = () => {}
    const touch = async () => {
      try {
        await bucket.put(`${keys.ofOwner(owner)}fresh`, Buffer.alloc(0), EMPTY_HASH, {})
      } catch (err) {
        log.warn({ err }, 'could not mark an upload as being in progress; the next mark follows in ten minutes')
      }
      schedule()
    }
    const schedule = () => {
      if (!ended) cancel = clock.schedule(TOUCH_EVERY_MS, () => void touch())
    }
    schedule()
    return () => {
      ended = true
      cancel()
    }
  }
}
