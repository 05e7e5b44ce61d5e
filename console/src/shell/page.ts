/** What every part of the page may use: the server, the place, the person's preferences, and ways to tell them things. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { ChangeFeed } from '../api/changes.ts'
import type { Server } from '../api/server.ts'
import type { WhoAmI } from '../api/types.ts'
import type { OwnRuns } from '../explore/own-runs.ts'
import type { SavedViews, ViewsOf } from '../runs/saved-views.ts'
import type { Keys } from './keys.ts'
import type { Preferences } from './preferences.ts'
import type { Router } from './router.ts'
import type { Toasts } from './toasts.tsx'

export interface Page {
  readonly server: Server
  readonly changes: ChangeFeed
  readonly router: Router
  readonly preferences: Preferences
  readonly keys: Keys
  readonly toasts: Toasts
  readonly ownRuns: OwnRuns
  readonly viewsOf: ViewsOf
  /** Arguments that the person has typed, by operation. Links cannot keep all of them. */
  readonly drafts: Map<string, string>
  /** Told to screen readers, politely. */
  announce(text: string): void
}

export const PageContext = createContext<Page | undefined>(undefined)

export function usePage(): Page {
  const page = useContext(PageContext)
  if (!page) throw new Error('The page is used outside its context.')
  return page
}

const ADMIN = 'callplane:admin'
const COVERED_BY: Readonly<Record<string, string>> = { 'callplane:audit': 'callplane:read' }

/** As the server decides it; the server decides again. */
export function may({ scopes }: WhoAmI, scope: string): boolean {
  const wider = COVERED_BY[scope]
  return scopes.includes(scope) || scopes.includes(ADMIN) || (wider !== undefined && scopes.includes(wider))
}

/** The signed-in caller. Only screens use it, and screens exist only after the sign-in. */
export function useWho(): WhoAmI {
  const state = usePage().server.session.state.value
  if (state.kind !== 'in') throw new Error('No session is open.')
  return state.who
}

/** The views of the signed-in caller. */
export function useSavedViews(): SavedViews {
  return usePage().viewsOf(useWho().caller)
}

/** `may('callplane:replay')`: changes are never offered in read-only mode. */
export function useMay(): (scope: string) => boolean {
  const who = useWho()
  const changes = ['callplane:operate', 'callplane:replay', 'callplane:approve']
  return (scope) => may(who, scope) && !(who.mode === 'read-only' && changes.includes(scope))
}
