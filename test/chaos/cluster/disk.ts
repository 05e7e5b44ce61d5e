/** A small disk of its own for the database, so that it can be full. Without the right to mount one, a plain folder. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  /** False if it is a plain folder, which cannot be filled. */
  readonly isSmall: boolean
  fill(): Promise<void>
  free(): Promise<void>
  remove(): Promise<void>
}

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
      const space = bavail * bsize
      if (spawnSync('fallocate', ['--length', String(space), filler]).status !== 0)
        await writeFile(filler, Buffer.alloc(space))
    },
    free: () => rm(filler, { force: true }),
    async remove() {
      process.off('exit', unmount)
      unmount()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
