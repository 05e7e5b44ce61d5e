/** Writes a result's bytes to standard output, or to a file that appears only when it is complete. */
import { open, rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { Fault } from '../../core/fault.ts'
import type { CommandIo } from '../command.ts'

export async function deliver(
  source: AsyncIterable<Uint8Array>,
  io: Pick<CommandIo, 'stdout'>,
  file: string | undefined,
): Promise<void> {
  if (file === undefined) return pipeline(source, io.stdout, { end: false })
  const part = `${file}.part`
  const handle = await open(part, 'w').catch((thrown: NodeJS.ErrnoException) => {
    throw cannotWrite(file, thrown)
  })
  try {
    await pipeline(source, handle.createWriteStream())
    await rename(part, file)
  } catch (thrown) {
    await rm(part, { force: true })
    // A system call failed, for example because the disk is full or the path is a folder.
    throw isSystemError(thrown) ? cannotWrite(file, thrown) : thrown
  }
}

function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && 'syscall' in thrown
}

function cannotWrite(file: string, cause: NodeJS.ErrnoException): Fault {
  return new Fault('malformed', `${file} cannot be written (${cause.code}). Choose another file, or free disk space.`, {
    code: 'CANNOT_WRITE',
    cause,
  })
}
