/** Leaves out undefined members, as JSON.stringify does. Most frames have none, and are returned unchanged. */
export function plainJson(value: unknown): unknown {
  return isPlain(value) ? value : JSON.parse(JSON.stringify(value))
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value !== undefined
  if (Array.isArray(value)) return value.every(isPlain)
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) return false
  return true
}
