/** Paths into JSON, and equality of JSON values. */

/** `order.items.0`, or a JSON Pointer (`/order/items/0`) if a name contains a dot. */
export function parsePath(text: string): string[] {
  if (!text.startsWith('/')) return text.split('.')
  const steps = text.slice(1).split('/')
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** `undefined` if the path does not exist. */
export function valueAt(value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const step of steps) {
    // Own members only, so that a path cannot reach `constructor` or `length`.
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    if (Array.isArray(found) && !/^\d+$/.test(step)) return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}

/** Goes no deeper than `expected`, so that a deeply nested value in a call costs nothing. */
export function sameJson(expected: unknown, value: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return expected === value
  if (typeof value !== 'object' || value === null || Array.isArray(expected) !== Array.isArray(value)) return false
  const names = Object.keys(expected)
  return (
    names.length === Object.keys(value).length &&
    names.every(
      (name) =>
        Object.hasOwn(value, name) &&
        sameJson((expected as Record<string, unknown>)[name], (value as Record<string, unknown>)[name]),
    )
  )
}
