/** Looks at the start whether the bucket can be read and written, and whether it keeps the conditions of writes. */

import { hash } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { Log } from '../../core/ports/runtime.ts'
import type { Bucket } from './bucket.ts'
import type { Keys } from './keys.ts'

const TEXT = Buffer.from('Written by Callplane at its first start. It shows that the bucket can be written.\n')
const ONLY_NEW = { 'if-none-match': '*', 'content-type': 'text/plain' }

export async function probe(bucket: Bucket, keys: Keys, log: Pick<Log, 'warn'>): Promise<void> {
  const mark = `${keys.root}callplane.txt`
  const write = () => bucket.put(mark, TEXT, hash('sha256', TEXT), ONLY_NEW)
  try {
    await bucket.list({ prefix: mark })
    // The first write creates the mark once and for all, so the second must be refused.
    if ((await write()) === 'written' && (await write()) === 'written') {
      log.warn(
        {},
        'the object storage ignores If-None-Match: if two nodes write the same chunked result and differ, it is not noticed',
      )
    }
  } catch (thrown) {
    const fault = Fault.from(thrown)
    if (fault.code !== 'STORAGE_REFUSED') {
      log.warn({ err: fault }, 'the object storage does not respond; calls with objects fail until it does')
      return
    }
    const reason = fault.cause instanceof Error ? fault.cause.message : fault.message
    throw new Fault('unavailable', `The object storage cannot be used. ${reason}`, {
      code: 'OBJECTS_UNUSABLE',
      cause: fault,
    })
  }
}
