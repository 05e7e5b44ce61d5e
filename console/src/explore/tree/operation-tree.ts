/** Operations by their namespaces, filtered by what a person types. Pure, and quick with 10,000 operations. */
import type { Entry } from '../wires/wire.ts'

export interface Group {
  name: string
  entries: readonly Entry[]
}

export type TreeRow =
  | { kind: 'group'; group: Group; isOpen: boolean }
  | { kind: 'operation'; entry: Entry; label: string }

/** The namespace, or an empty text for operations without one. The server's own are the last group. */
export function groupsOf(entries: readonly Entry[]): Group[] {
  const groups = Map.groupBy(entries, ({ op }) => namespaceOf(op))
  return [...groups]
    .map(([name, of]) => ({ name, entries: of }))
    .sort(
      (a, b) =>
        Number(isOwn(a.name)) - Number(isOwn(b.name)) ||
        compare(a.name.toLowerCase(), b.name.toLowerCase()) ||
        compare(a.name, b.name),
    )
}

/** A group of the server's own operations. */
export function isOwn(name: string): boolean {
  return name === 'callplane' || name.startsWith('callplane.')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function namespaceOf(op: string): string {
  // It comes with the first stream of a server.
  if (op === 'v1:unsubscribeFromStream') return 'callplane'
  const name = op.slice(op.indexOf(':') + 1)
  return name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : ''
}

/** The name without its namespace. The version is shown if it is not the first one. */
export function labelOf(op: string): string {
  const name = op.slice(op.indexOf(':') + 1)
  const base = name.slice(name.lastIndexOf('.') + 1)
  return op.startsWith('v1:') ? base : `${base} ${op.slice(0, op.indexOf(':'))}`
}

/** What is searched, in lower case. Made once for a registry. */
export interface SearchIndex {
  groups: readonly Group[]
  texts: ReadonlyMap<string, string>
}

export function indexOf(entries: readonly Entry[]): SearchIndex {
  const texts = new Map(
    entries.map((entry) => [entry.op, `${entry.op} ${entry.title ?? ''} ${entry.description ?? ''}`.toLowerCase()]),
  )
  return { groups: groupsOf(entries), texts }
}

/** All words must occur. A search opens every group. */
export function rowsOf({ groups, texts }: SearchIndex, search: string, closed: ReadonlySet<string>): TreeRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const rows: TreeRow[] = []
  for (const group of groups) {
    const entries =
      words.length === 0
        ? group.entries
        : group.entries.filter(({ op }) => words.every((word) => texts.get(op)?.includes(word)))
    if (entries.length === 0) continue
    const isOpen = words.length > 0 || !closed.has(group.name)
    rows.push({ kind: 'group', group: { ...group, entries }, isOpen })
    if (!isOpen) continue
    for (const entry of entries) rows.push({ kind: 'operation', entry, label: labelOf(entry.op) })
  }
  return rows
}
