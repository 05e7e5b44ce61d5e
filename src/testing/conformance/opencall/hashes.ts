/** Finds hashes in a registry at any depth, except in an operation's own arguments and results. */

const NAME = /hash|digest|checksum|fingerprint|(?:^|[-_])etag|^(?:x-)?(?:sha|md5|crc)/i
const VALUE = /^(?:sha\d+|md5|crc\d*)[-:]\S+$|^[0-9a-f]{32,128}$/i
/** Keywords whose members are named by the operation. */
const NAMED_SCHEMAS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose values belong to callers' data. */
const VALUES = new Set(['required', 'dependentRequired', 'enum', 'const', 'default', 'examples'])

/** Returns the paths of values that are named like a hash or look like one. */
export function hashesIn(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return VALUE.test(value) ? [path] : []
  return membersOf(value).flatMap(([key, member]) => {
    const here = `${path}/${key}`
    if (VALUES.has(key)) return []
    if (NAMED_SCHEMAS.has(key))
      return membersOf(member).flatMap(([name, schema]) => hashesIn(schema, `${here}/${name}`))
    return NAME.test(key) ? [here] : hashesIn(member, here)
  })
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}
