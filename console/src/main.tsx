/** Starts the page. */
import { render } from 'preact'
import { ChangeFeed } from './api/changes.ts'
import { baseOf, createConsoleServer } from './api/server.ts'
import { createOwnRuns } from './explore/own-runs.ts'
import { href, placeOf } from './routes.ts'
import { createSavedViews } from './runs/saved-views.ts'
import { App } from './shell/app.tsx'
import { createKeys } from './shell/keys.ts'
import type { Page } from './shell/page.ts'
import { createPreferences, storageOf } from './shell/preferences.ts'
import { createRouter } from './shell/router.ts'
import { createToasts } from './shell/toasts.tsx'
import { texts } from './texts/en/login.ts'

const START_PATH = /\/console\/$/

function start(root: HTMLElement): void {
  const kept = storageOf(() => localStorage)
  const preferences = createPreferences(kept, document.documentElement)
  const server = createConsoleServer(
    baseOf(location.href),
    storageOf(() => sessionStorage),
  )
  const first = placeOf(location.hash)
  const code = first?.name === 'login' ? first.query.code : undefined
  // The code must not stay in the address or in the history.
  if (first?.name === 'login') history.replaceState(null, '', ownPlace(first.query.to) ?? href('explore'))
  else if (location.hash === '' && START_PATH.test(location.pathname)) history.replaceState(null, '', href('runs'))
  const page: Page = {
    server,
    changes: new ChangeFeed(server),
    preferences,
    router: createRouter(window),
    keys: createKeys(window, preferences.singleKeys),
    toasts: createToasts(),
    ownRuns: createOwnRuns(),
    viewsOf: createSavedViews(kept, otherTabs, server.base),
    drafts: new Map(),
    announce: createAnnouncer(),
  }
  root.replaceChildren()
  render(<App page={page} />, root)
  void server.session.start(code, first?.name === 'login' ? texts.providerProblems[first.query.error ?? ''] : undefined)
}

/** The browser tells a tab what others have stored. */
function otherTabs(changed: (key: string | null) => void): void {
  window.addEventListener('storage', ({ key }) => changed(key))
}

/** A link may name any address. Only a place of this page is used. */
function ownPlace(to: string | undefined): string | undefined {
  return to?.startsWith('#/') ? to : undefined
}

/** A live region outside what the page renders: it must exist before its text changes. */
function createAnnouncer(): (text: string) => void {
  const region = document.createElement('div')
  region.className = 'only-read'
  region.setAttribute('role', 'status')
  document.body.append(region)
  return (text) => {
    region.textContent = text
  }
}

const root = document.getElementById('app')
if (root) start(root)
