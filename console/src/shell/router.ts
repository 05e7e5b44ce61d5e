/** The place that the address names, as a signal. Links are ordinary links; the browser's history is the page's. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { href, type Place, placeOf, type QueryOf, type RouteName } from '../routes.ts'

export interface Router {
  /** `undefined`: the address names no place. */
  readonly place: ReadonlySignal<Place | undefined>
  go(fragment: string): void
  /** Changes the address without a new entry in the history: for a filter while one types it. */
  replace(fragment: string): void
  /** Changes parts of the query of the current place. */
  setQuery<N extends RouteName>(name: N, changes: QueryOf<N>, how?: 'push' | 'replace'): void
}

export function createRouter(window: Window): Router {
  const place = signal(placeOf(window.location.hash))
  const read = () => {
    place.value = placeOf(window.location.hash)
  }
  window.addEventListener('hashchange', read)
  const router: Router = {
    place,
    go(fragment) {
      window.location.hash = fragment
    },
    replace(fragment) {
      window.history.replaceState(window.history.state, '', fragment)
      read()
    },
    setQuery(name, changes, how = 'replace') {
      const here = place.peek()
      if (here?.name !== name) return
      const to = href as (name: RouteName, params: object, query: object) => string
      const fragment = to(name, here.params, { ...here.query, ...changes })
      if (how === 'push') router.go(fragment)
      else router.replace(fragment)
    },
  }
  return router
}
