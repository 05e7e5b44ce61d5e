/** The entries of the rail, in order: what the caller has no scope for, or the page has no screen for, is absent. */
import type { WhoAmI } from '../api/types.ts'
import type { IconName } from '../design/icon.tsx'
import type { RouteName } from '../routes.ts'
import { SCREENS } from '../screens.tsx'
import { may } from './page.ts'

export type Section = 'explore' | 'runs' | 'approvals' | 'dead' | 'streams' | 'health' | 'audit' | 'errors'

export interface Entry {
  readonly section: Section
  readonly icon: IconName
  /** Absent: everybody may. */
  readonly scope?: string
}

const ENTRIES: readonly Entry[] = [
  { section: 'explore', icon: 'explore' },
  { section: 'runs', icon: 'runs', scope: 'callplane:read' },
  { section: 'approvals', icon: 'approvals', scope: 'callplane:approve' },
  { section: 'dead', icon: 'dead', scope: 'callplane:read' },
  { section: 'streams', icon: 'streams', scope: 'callplane:read' },
  { section: 'health', icon: 'health', scope: 'callplane:read' },
  { section: 'audit', icon: 'audit', scope: 'callplane:audit' },
  { section: 'errors', icon: 'errors' },
]

/** Which entry is marked on which route. */
const SECTION_OF: Partial<Record<RouteName, Section>> = {
  operation: 'explore',
  run: 'runs',
  compare: 'runs',
  approval: 'approvals',
  stream: 'streams',
  error: 'errors',
}

export function entriesFor(who: WhoAmI): readonly Entry[] {
  return ENTRIES.filter(({ section, scope }) => SCREENS[section] && (!scope || may(who, scope)))
}

export function sectionOf(route: RouteName): string {
  return SECTION_OF[route] ?? route
}

/** The scope that a route needs and the caller lacks. */
export function missingScope(route: RouteName, who: WhoAmI): string | undefined {
  const scope = ENTRIES.find(({ section }) => section === sectionOf(route))?.scope
  return scope && !may(who, scope) ? scope : undefined
}
