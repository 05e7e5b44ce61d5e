/** A bucket: whether it can be listed, written, read and removed from, and keeps the conditions of writes. */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Fault } from '../../core/fault.ts'
import { type Finding, fine, problem, warning } from '../../core/finding.ts'
import { systemClock } from '../build/environment.ts'

const TEXT = Buffer.from('Written by callplane doctor.\n')

export async function examineObjects(url: string, env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const found: Finding[] = []
  // At its start a server looks for most problems itself, and logs them.
  const log = {
    warn: (_fields: object, message: string) =>
      void found.push(warning('objects', `${message}.`, 'See docs/adapters/objects/s3.md.')),
  }
  const { openS3Objects } = await import('../../objects/s3/index.ts')
  try {
    const objects = await openS3Objects({ url, clock: systemClock, log, env, conceal: () => () => {} })
    const owner = randomUUID()
    const id = `${owner}/doctor`
    try {
      await objects.put(id, Readable.from([TEXT]), { mimeType: 'text/plain', maxBytes: TEXT.length })
      const read = await buffer(objects.read(id))
      if (!read.equals(TEXT))
        found.push(problem('objects', 'The bucket returned other bytes than were written.', 'Check its server.'))
    } finally {
      await objects.removeOwner(owner)
      objects.close()
    }
    return found.length === 0 ? [fine('objects', 'The bucket can be written, read and removed from.')] : found
  } catch (thrown) {
    const { message, cause } = Fault.from(thrown)
    const reason = cause instanceof Error ? ` ${cause.message}` : ''
    return [problem('objects', message + reason, 'Correct the address, the credentials or the rights of the bucket.')]
  }
}
