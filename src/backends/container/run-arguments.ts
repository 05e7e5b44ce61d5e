/** The command line of one run, with the options that isolate the container. */
import { LABEL } from './names.ts'
import type { ContainerSettings } from './settings.ts'

/** Both engines pass their own proxy variables, including passwords in the URL, to every container. */
const PROXIES = ['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy', 'no_proxy']
const NO_PROXY = PROXIES.flatMap((name) => [`--env=${name}=`, `--env=${name.toUpperCase()}=`])

export interface RunChoices {
  /** Variables that the container receives with the values from the engine program's environment. */
  readonly variables: readonly string[]
  /** The container gets the engine program's own standard streams. */
  readonly passStreams: boolean
}

export function runArguments(
  settings: ContainerSettings,
  name: string,
  { variables, passStreams }: RunChoices,
): string[] {
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
    // Equal to the memory limit, which disables swap.
    `--memory-swap=${memoryMb}m`,
    `--cpus=${cpus}`,
    `--pids-limit=${pids}`,
    // Without this, a removal waits 10 s for the tool to stop.
    '--stop-timeout=0',
    // By default the engine also writes all output to disk.
    `--log-driver=${passStreams ? 'passthrough' : 'none'}`,
    ...NO_PROXY,
    ...variables.map((variable) => `--env=${variable}`),
    image,
    ...command,
  ]
}
