/** The difference of two JSON values, place by place. Pure. Arrays are compared by position, objects by name. */

export type Change = 'same' | 'changed' | 'added' | 'removed'

export interface Difference {
  /** `items[0].price`; empty for the whole value. */
  readonly path: string
  readonly change: Change
  readonly before?: unknown
  readonly after?: unknown
}

/** One entry for each leaf of either value. An empty object or array is a leaf. */
export function compare(before: unknown, after: unknown, path = ''): Difference[] {
  const kind = kindOf(before)
  if (kind === 'leaf' || kind !== kindOf(after)) {
    if (same(before, after)) return [{ path, change: 'same', before, after }]
    return [...leaves(before, path, 'removed'), ...leaves(after, path, 'added')].reduce(joinChanged, [])
  }
  const [one, other] = [before as Record<string, unknown>, after as Record<string, unknown>]
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const found = names.flatMap((name) => {
    const place = placeOf(path, name, kind)
    if (!Object.hasOwn(other, name)) return leaves(one[name], place, 'removed')
    if (!Object.hasOwn(one, name)) return leaves(other[name], place, 'added')
    return compare(one[name], other[name], place)
  })
  return found.length > 0 ? found : [{ path, change: 'same', before, after }]
}

/** All leaves of one value. */
export function leavesOf(value: unknown): Difference[] {
  return leaves(value, '', 'same').map(({ path, after }) => ({ path, change: 'same', after }))
}

function leaves(value: unknown, path: string, change: Change): Difference[] {
  const kind = kindOf(value)
  if (kind === 'leaf') return [{ path, change, ...(change === 'removed' ? { before: value } : { after: value }) }]
  return Object.entries(value as object).flatMap(([name, part]) => leaves(part, placeOf(path, name, kind), change))
}

/** A leaf that was replaced by another leaf at the same place is one change. */
function joinChanged(found: Difference[], next: Difference): Difference[] {
  const at = found.findIndex((one) => one.path === next.path && one.change === 'removed' && next.change === 'added')
  const removed = found[at]
  if (!removed) return [...found, next]
  return found.with(at, { path: next.path, change: 'changed', before: removed.before, after: next.after })
}

function kindOf(value: unknown): 'array' | 'object' | 'leaf' {
  if (Array.isArray(value)) return value.length > 0 ? 'array' : 'leaf'
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0 ? 'object' : 'leaf'
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u

function placeOf(path: string, name: string, kind: 'array' | 'object' | 'leaf'): string {
  if (kind === 'array') return `${path}[${name}]`
  if (!PLAIN.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}
