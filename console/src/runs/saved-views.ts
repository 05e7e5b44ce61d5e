/** Filters that a person named, for this server and this caller only. Kept in the storage of the browser, if it has one. */
import { type ReadonlySignal, signal } from '@preact/signals'

export interface SavedView {
  readonly name: string
  /** The text of the filter. */
  readonly filter: string
}

export interface SavedViews {
  readonly list: ReadonlySignal<readonly SavedView[]>
  /** A view of the same name is replaced. */
  save(...views: readonly SavedView[]): void
  forget(name: string): void
}

export type ViewsOf = (caller: { tenant: string; owner: string }) => SavedViews

/** Calls back with the key that another tab has changed. */
type OtherTabs = (changed: (key: string | null) => void) => void

/** Tabs share the storage: it is read again before every change, and when another tab has changed it. */
export function createSavedViews(storage: Storage | undefined, otherTabs: OtherTabs, base: string): ViewsOf {
  const known = new Map<string, SavedViews>()
  return ({ tenant, owner }) => {
    const key = `callplane.views ${JSON.stringify([base, tenant, owner])}`
    const views = known.get(key) ?? createViews(storage, otherTabs, key)
    known.set(key, views)
    return views
  }
}

function createViews(storage: Storage | undefined, otherTabs: OtherTabs, key: string): SavedViews {
  const list = signal<readonly SavedView[]>([])
  const read = () => {
    if (storage) list.value = viewsIn(storage.getItem(key) ?? '[]') ?? []
  }
  const change = (to: (before: readonly SavedView[]) => readonly SavedView[]) => {
    read()
    list.value = to(list.peek())
    storage?.setItem(key, JSON.stringify(list.peek()))
  }
  read()
  otherTabs((changed) => changed === key && read())
  return {
    list,
    save: (...views) =>
      change((before) => [...before.filter(({ name }) => !views.some((view) => view.name === name)), ...views]),
    forget: (name) => change((before) => before.filter((view) => view.name !== name)),
  }
}

/** Views as a file that a person can send to another. */
export function exportViews(views: readonly SavedView[]): string {
  return `${JSON.stringify({ callplane: 'saved-views', version: 1, views }, null, 2)}\n`
}

/** `undefined` if the text is no such file. */
export function importViews(text: string): readonly SavedView[] | undefined {
  try {
    const { callplane, views } = JSON.parse(text) as { callplane?: unknown; views?: unknown }
    return callplane === 'saved-views' ? viewsIn(JSON.stringify(views)) : undefined
  } catch {
    return undefined
  }
}

function viewsIn(text: string): SavedView[] | undefined {
  try {
    const views = (JSON.parse(text) as Record<string, unknown>[]).map(({ name, filter }) => ({ name, filter }))
    return views.every(isView) ? views : undefined
  } catch {
    return undefined
  }
}

function isView(view: { name: unknown; filter: unknown }): view is SavedView {
  return typeof view.name === 'string' && view.name !== '' && typeof view.filter === 'string'
}
