/** podman with a storage of its own in a temporary folder, and an image in it that holds nothing but busybox. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Podman {
  /** What a declaration needs to use it. */
  settings: { engine: string; engineArgs: string[]; runArgs: string[]; image: string }
  /** Names of the containers there are; with `running`, of those at work. */
  containers(only?: 'running'): string[]
  /** Returns when a container is at work. */
  untilRunning(): Promise<void>
  /** Returns when no container is there any more. */
  untilGone(): Promise<void>
  remove(): void
}

const IMAGE = 'localhost/callplane-busybox'

export function startPodman(): Podman {
  const folder = mkdtempSync(join(tmpdir(), 'cp-'))
  const engineArgs = [
    `--root=${folder}/root`,
    `--runroot=${folder}/run`,
    `--tmpdir=${folder}/tmp`,
    // Needs nothing of the kernel, and leaves no mounts behind.
    '--storage-driver=vfs',
    '--runtime=runc',
    '--cgroup-manager=cgroupfs',
    '--events-backend=none',
  ]
  const podman = (...command: string[]) =>
    execFileSync('podman', [...engineArgs, ...command], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

  const archive = join(folder, 'image.tar')
  mkdirSync(join(folder, 'image/bin'), { recursive: true })
  const busybox = execFileSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).trim()
  cpSync(realpathSync(busybox), join(folder, 'image/bin/busybox'))
  execFileSync('tar', ['-C', join(folder, 'image'), '-cf', archive, 'bin'])
  podman('import', archive, IMAGE)

  const containers = (only?: 'running') =>
    podman('ps', ...(only ? [] : ['--all']), '--format={{.Names}}')
      .split('\n')
      .filter((name) => name !== '')
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise(setImmediate)
  }
  return {
    settings: {
      engine: 'podman',
      engineArgs,
      // Higher ones are not ours to give in every virtual machine.
      runArgs: ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024'],
      image: IMAGE,
    },
    containers,
    untilRunning: () => until(() => containers('running').length > 0),
    untilGone: () => until(() => containers().length === 0),
    remove() {
      for (const name of containers()) podman('rm', '--force', name)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
