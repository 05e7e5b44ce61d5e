/**
 * The mark of a store that is being moved. It is in the target until everything is there and checked, and in the source
 * from then on. A server with either would run calls that another one runs, too.
 */
import { Fault } from '../../core/fault.ts'
import type { Records, Store } from '../../core/ports/store.ts'

const KEY = 'moving'

export interface Mark {
  /** The data folder of the source. */
  from: string
  /** The target, without its login. */
  to: string
  /** True if the move is done, and this is the source. */
  done?: true
}

export async function readMark(records: Records): Promise<Mark | undefined> {
  const text = await records.get(KEY)
  return text === undefined ? undefined : (JSON.parse(text) as Mark)
}

export function writeMark(records: Records, mark: Mark): Promise<void> {
  return records.put(KEY, JSON.stringify(mark))
}

export function removeMark(records: Records): Promise<void> {
  return records.remove(KEY)
}

/** Records that belong to a store itself, and not to its calls. */
export function isOwnRecord(key: string): boolean {
  return key === KEY || key.startsWith('maintenance:')
}

export async function refuseMoved({ records }: Pick<Store, 'records'>): Promise<void> {
  const mark = await readMark(records)
  if (!mark) return
  const { from, to, done } = mark
  throw new Fault(
    'unavailable',
    done
      ? `The calls in ${from} were moved to ${to}. Start the server with --store and the address of that database.`
      : `The calls of ${from} are being moved to ${to}, and not all of them are there. Run "callplane move" again to finish.`,
    { code: 'STORAGE_MOVED', retryable: false },
  )
}
