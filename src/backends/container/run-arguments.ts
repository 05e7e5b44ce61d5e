/** The command line of one run: what shuts the container in. */
import { LABEL } from './names.ts'
import type { ContainerSettings } from './settings.ts'

/** Both engines hand the proxy of whoever starts them to every container, passwords in its address included. */
const PROXIES = ['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy', 'no_proxy']
const NO_PROXY = PROXIES.flatMap((name) => [`--env=${name}=`, `--env=${name.toUpperCase()}=`])

/** `passed` are variables that the container gets with the values that the engine's own program has. */
export function runArguments(settings: ContainerSettings, name: string, passed: readonly string[] = []): string[] {
  const { image, command, runArgs, user, memoryMb, cpus, pids, pull } = settings
  return [
    'run',
    ...runArgs,
    '--rm',
    '--interactive',
    `--name=${name}`,
    `--label=${LABEL}`,
    `--pull=${pull}`,
    '--network=none',
    '--read-only',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    `--user=${user}`,
    `--memory=${memoryMb}m`,
    // The same: no swap on top of it.
    `--memory-swap=${memoryMb}m`,
    `--cpus=${cpus}`,
    `--pids-limit=${pids}`,
    // Or removing it would first ask politely for ten seconds.
    '--stop-timeout=0',
    // The engine would keep all output on disk besides.
    '--log-driver=none',
    ...NO_PROXY,
    ...passed.map((variable) => `--env=${variable}`),
    image,
    ...command,
  ]
}
