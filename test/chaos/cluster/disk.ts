/** A small disk of its own for the database, so that it can be full. Without the right to mount one, a plain folder. */
import { spawnSync } from 'node:child_process'
import { appendFile, chmod, mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  /** False if it is a plain folder, which cannot be filled. */
  readonly isSmall: boolean
  fill(): Promise<void>
  free(): Promise<void>
  remove(): Promise<void>
}

const ALMOST = 8 * 1024 * 1024

export async function mountDisk(folder: string, megabytes: number): Promise<SmallDisk> {
  await mkdir(folder, { recursive: true })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]).status === 0
  // The database runs as a user without rights.
  await chmod(folder, 0o777)
  const unmount = () => void (mounted && spawnSync('umount', ['--lazy', folder]))
  // Also if the run is interrupted: it would keep its memory otherwise.
  process.once('exit', unmount)
  const filler = join(folder, 'filler')
  return {
    folder,
    isSmall: mounted,
    async fill() {
      const { bavail, bsize } = await statfs(folder)
      // The database writes meanwhile. So most of the space goes at once, and the rest until there is none.
      spawnSync('fallocate', ['--length', String(Math.max(1, bavail * bsize - ALMOST)), filler])
      await appendFile(filler, Buffer.alloc(2 * ALMOST)).catch((thrown: NodeJS.ErrnoException) => {
        if (thrown.code !== 'ENOSPC') throw thrown
      })
    },
    free: () => rm(filler, { force: true }),
    async remove() {
      process.off('exit', unmount)
      unmount()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
