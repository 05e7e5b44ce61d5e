/** Paths into JSON, and when two values of it are the same. */

/** `order.items.0`, or a JSON Pointer (`/order/items/0`) where a name has a dot in it. */
export function parsePath(text: string): string[] {
  if (!text.startsWith('/')) return text.split('.')
  const steps = text.slice(1).split('/')
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Nothing if there is no such place. */
export function valueAt(value: unknown, steps: readonly string[]): unknown {
  let found = value
  for (const step of steps) {
    // Own members only: `constructor` and `length` are in nobody's arguments.
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    if (Array.isArray(found) && !/^\d+$/.test(step)) return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}

/** Goes no deeper than `expected`, so that a deep value in a call costs nothing. */
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
