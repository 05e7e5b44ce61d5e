/** The settings of a `container` backend. None of them can weaken the isolation. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { DEFAULT_MAX_BYTES } from '../../protocols/contract/client.ts'
import { isPositive, isText, optional, refuseUnknown } from '../remote/settings.ts'

export interface ContainerSettings {
  readonly image: string
  /** Overrides the image's command. */
  readonly command: readonly string[]
  /** A program name to find on the PATH, or a path. Default: podman, then docker. */
  readonly engine?: string
  /** Options placed before the engine's command, to choose its storage, runtime or host. */
  readonly engineArgs: readonly string[]
  /** Additional options for `run`. */
  readonly runArgs: readonly string[]
  readonly user: string
  readonly memoryMb: number
  readonly cpus: number
  readonly pids: number
  readonly pull: 'never' | 'missing'
  /** Maximum size of the output. */
  readonly maxBytes: number
}

/** The user `nobody` in most images and on most hosts. */
const NOBODY = '65534:65534'

/** The options of `run` that do not weaken the isolation. */
const HARMLESS: ReadonlySet<string> = new Set([
  'entrypoint',
  'env',
  'hostname',
  'init',
  'platform',
  'runtime',
  'shm-size',
  'tmpfs',
  'ulimit',
  'workdir',
])

export function parseContainerSettings(spec: BackendSpec): ContainerSettings {
  refuseUnknown(spec, [
    'kind',
    'image',
    'command',
    'engine',
    'engineArgs',
    'runArgs',
    'user',
    'memoryMb',
    'cpus',
    'pids',
    'pull',
    'maxBytes',
  ])
  const image = optional(spec, 'image', isImage, IMAGE)
  if (image === undefined) throw new Fault('policy-invalid', `backend.image must be ${IMAGE}.`)
  const engine = optional(spec, 'engine', isText, 'podman, docker, or the path of one of them')
  return {
    image,
    command: optional(spec, 'command', isTexts, 'a list of texts, such as [/bin/tool, --json]') ?? [],
    ...(engine !== undefined && { engine }),
    engineArgs: optional(spec, 'engineArgs', isOptions, 'a list of options, such as [--runtime=runc]') ?? [],
    runArgs: optional(spec, 'runArgs', isHarmless, `a list of --name=value, of ${[...HARMLESS].join(', ')}`) ?? [],
    user:
      optional(spec, 'user', isUser, `a user and a group by number, neither of them 0, such as ${NOBODY}`) ?? NOBODY,
    memoryMb: optional(spec, 'memoryMb', isPositive, 'a number of MiB, such as 256') ?? 256,
    cpus: optional(spec, 'cpus', isShare, 'a number of processors, such as 0.5') ?? 1,
    pids: optional(spec, 'pids', isPositive, 'a number of processes and threads, such as 64') ?? 64,
    pull: optional(spec, 'pull', isPull, 'never or missing') ?? 'never',
    maxBytes: optional(spec, 'maxBytes', isPositive, 'a number of bytes, such as 1048576') ?? DEFAULT_MAX_BYTES,
  }
}

const IMAGE = 'the name of an image, such as registry.example/tools/convert:1.4'

/** The engine would read a name that begins with a dash as an option. */
function isImage(value: unknown): value is string {
  return isText(value) && !value.startsWith('-')
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && !item.includes('\0'))
}

/** Each option is one text. The engine would read a separate value as its command or as the image. */
function isOptions(value: unknown): value is string[] {
  return isTexts(value) && value.every((item) => /^--[a-z][a-z-]*(?:=|$)/.test(item))
}

function isHarmless(value: unknown): value is string[] {
  return isTexts(value) && value.every((item) => HARMLESS.has(/^--([a-z-]+)=./.exec(item)?.[1] ?? ''))
}

function isUser(value: unknown): value is string {
  return typeof value === 'string' && /^[1-9]\d{0,9}:[1-9]\d{0,9}$/.test(value)
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0.01
}

function isPull(value: unknown): value is 'never' | 'missing' {
  return value === 'never' || value === 'missing'
}
