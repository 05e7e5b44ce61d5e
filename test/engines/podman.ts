/** podman with its own storage in a temporary folder, and an image that contains only busybox. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Podman {
  /** The settings that a declaration needs to use it. */
  settings: { engine: string; engineArgs: string[]; runArgs: string[]; image: string }
  /** Names of all containers; with `running`, only of the running ones. */
  containers(only?: 'running'): string[]
  /** Resolves when a container is running. */
  untilRunning(): Promise<void>
  /** Resolves when there is no container. */
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
    // Needs no kernel support, and leaves no mounts behind.
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
      // Some virtual machines do not permit higher limits.
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
