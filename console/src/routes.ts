/**
 * The one table of the page's addresses. It drives the router, the palette and the tests. All state is in the fragment:
 * it reaches no proxy log, and the page works below any path.
 */

interface RouteShape {
  /** `:name` is a parameter; it may hold any character. */
  readonly path: string
  /** The names that may stand after `?`. */
  readonly query: readonly string[]
}

export const ROUTES = {
  explore: { path: '/', query: ['q'] },
  operation: { path: '/op/:op', query: ['view', 'wire', 'a', 'tab'] },
  runs: { path: '/runs', query: ['f', 'at', 'peek'] },
  run: { path: '/run/:id', query: ['tab', 'event'] },
  compare: { path: '/compare/:a/:b', query: ['part'] },
  approvals: { path: '/approvals', query: ['show'] },
  approval: { path: '/approvals/:id', query: [] },
  dead: { path: '/dead', query: ['f'] },
  streams: { path: '/streams', query: [] },
  stream: { path: '/streams/:id', query: [] },
  health: { path: '/health', query: ['range', 'op'] },
  audit: { path: '/audit', query: ['f'] },
  errors: { path: '/errors', query: ['q'] },
  error: { path: '/errors/:code', query: [] },
  settings: { path: '/settings', query: [] },
  login: { path: '/login', query: ['code', 'to', 'error'] },
} as const satisfies Record<string, RouteShape>

export type RouteName = keyof typeof ROUTES

type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

export type ParamsOf<N extends RouteName> = { readonly [P in ParamsIn<(typeof ROUTES)[N]['path']>]: string }
export type QueryOf<N extends RouteName> = { readonly [Q in (typeof ROUTES)[N]['query'][number]]?: string | undefined }

/** A place in the page. The union over all routes, so that `place.name` tells which parameters there are. */
export type Place = { [N in RouteName]: { name: N; params: ParamsOf<N>; query: QueryOf<N> } }[RouteName]

type Parameters<N extends RouteName> = [ParamsIn<(typeof ROUTES)[N]['path']>] extends [never]
  ? [params?: Record<never, never>, query?: QueryOf<N>]
  : [params: ParamsOf<N>, query?: QueryOf<N>]

/** The fragment of a place: `href('run', { id })` is `#/run/{id}`. */
export function href<N extends RouteName>(name: N, ...[params = {}, query = {}]: Parameters<N>): string {
  const given = params as Record<string, string>
  const path = ROUTES[name].path.replace(/:(\w+)/g, (_, key: string) => encode(given[key] ?? ''))
  const pairs = Object.entries(query as Record<string, string | undefined>)
    .filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '')
    .map(([key, value]) => `${key}=${encode(value)}`)
  return `#${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
}

/** The place of a fragment. `undefined` if no route has it. Unknown names after `?` are dropped. */
export function placeOf(fragment: string): Place | undefined {
  const [path = '', search = ''] = splitOnce(fragment.replace(/^#/, '') || '/', '?')
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const params = match(ROUTES[name].path, path)
    if (params) return { name, params, query: queryIn(search, ROUTES[name].query) } as unknown as Place
  }
  return undefined
}

function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = decode(given[index] ?? '')
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = value
    else if (part !== value) return undefined
  }
  return params
}

function queryIn(search: string, known: readonly string[]): Record<string, string> {
  const query: Record<string, string> = {}
  for (const pair of search.split('&')) {
    const [key = '', value] = splitOnce(pair, '=')
    if (value !== undefined && known.includes(key)) query[key] = decode(value)
  }
  return query
}

function splitOnce(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + by.length)]
}

/** Characters that a fragment may hold as they are stay readable: `v1:orders.*`. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%(?:3A|2C|40|24)/g, decodeURIComponent)
}

/** A person may have typed the fragment: a broken escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
