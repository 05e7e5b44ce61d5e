/**
 * Finds the route of a path. Paths are compared without normalisation, so `/call/`, `//call` and `/%63all` are not
 * `/call`.
 */

import { Fault } from '../../core/fault.ts'
import type { Handle, Refuse, Route } from '../../core/ports/exchange.ts'

export interface RouteEntry {
  readonly handles: ReadonlyMap<string, Handle>
  /** For the `Allow` header. */
  readonly allow: readonly string[]
  readonly refuse: Refuse
  /** One per segment: an object for a parameter, a string for a literal. Empty for a path without parameters. */
  readonly segments: readonly Segment[]
  readonly accepts: ((path: string) => boolean) | undefined
}

/** `isMany`: matches one or more segments. */
type Segment = string | { readonly name: string; readonly isMany: boolean }

export interface RouteTable {
  find(path: string): RouteEntry | undefined
}

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const exact = new Map<string, RouteEntry>()
  // Keyed by the first segment, so that a request is compared with few patterns.
  const patterns = new Map<string, RouteEntry[]>()
  const seen = new Set<string>()
  for (const route of routes) {
    const segments = parsePattern(route.path)
    const shape = segments
      .map((segment) => (typeof segment === 'string' ? segment : segment.isMany ? '{+}' : '{}'))
      .join('/')
    if (seen.has(shape)) {
      throw new Fault('malformed', `Two routes claim the path ${route.path}; give one of them another path.`)
    }
    seen.add(shape)
    if (segments.every((segment) => typeof segment === 'string')) {
      exact.set(route.path, entryOf(route, []))
      continue
    }
    const first = segments[0]
    const key = typeof first === 'string' ? first : ''
    const list = patterns.get(key) ?? []
    list.push(entryOf(route, segments))
    patterns.set(key, list.sort(literalsFirst))
  }
  const anywhere = patterns.get('') ?? []
  return {
    find(path) {
      const found = exact.get(path)
      if (found || patterns.size === 0) return found
      const parts = path.split('/')
      if (parts[0] !== '' || parts[1] === undefined || parts[1] === '') return undefined
      const candidates = patterns.get(parts[1])
      return (candidates && firstMatch(candidates, path, parts)) ?? firstMatch(anywhere, path, parts)
    },
  }
}

/** For a single path. Returns its parameters, or `undefined` for another path. */
export function createPathMatcher(pattern: string): (path: string) => Readonly<Record<string, string>> | undefined {
  const segments = parsePattern(pattern)
  return (path) => {
    const parts = path.split('/')
    return parts[0] === '' && matches(segments, parts) ? readParams({ segments }, path) : undefined
  }
}

/** Returns the parameters of a path for the entry that `find` returned. Throws a fault for a malformed escape. */
export function readParams(entry: Pick<RouteEntry, 'segments'>, path: string): Readonly<Record<string, string>> {
  const params: Record<string, string> = {}
  const parts = path.split('/')
  let at = 1
  for (const segment of entry.segments) {
    const next = at + (isMany(segment) ? parts.length - entry.segments.length : 1)
    if (typeof segment !== 'string') {
      params[segment.name] = segment.isMany ? parts.slice(at, next).join('/') : decodeSegment(parts[at] ?? '')
    }
    at = next
  }
  return params
}

function decodeSegment(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new Fault('malformed', 'The path has a "%" that starts no valid escape; write a literal one as "%25".', {
      code: 'INVALID_PATH',
      cause,
    })
  }
}

function firstMatch(entries: readonly RouteEntry[], path: string, parts: readonly string[]): RouteEntry | undefined {
  for (const entry of entries) if (matches(entry.segments, parts) && (entry.accepts?.(path) ?? true)) return entry
  return undefined
}

function matches(segments: readonly Segment[], parts: readonly string[]): boolean {
  /** How many segments a `{name+}` takes besides its own. */
  const more = parts.length - 1 - segments.length
  if (more < 0 || (more > 0 && !segments.some(isMany))) return false
  let at = 1
  for (const segment of segments) {
    const end = isMany(segment) ? at + more : at
    for (; at <= end; at += 1) if (typeof segment === 'string' ? parts[at] !== segment : parts[at] === '') return false
  }
  return true
}

function isMany(segment: Segment): boolean {
  return typeof segment !== 'string' && segment.isMany
}

/** How much a segment of a pattern matches: itself, any one segment, or several. */
function breadth(segment: Segment): 0 | 1 | 2 {
  return typeof segment === 'string' ? 0 : segment.isMany ? 2 : 1
}

/** `/ops/{id}/chunks` comes before `/ops/{id}/{part}`: the pattern with more literals is more specific. */
function literalsFirst(a: RouteEntry, b: RouteEntry): number {
  for (let index = 0; index < Math.min(a.segments.length, b.segments.length); index += 1) {
    const order = breadth(a.segments[index] as Segment) - breadth(b.segments[index] as Segment)
    if (order !== 0) return order
  }
  return 0
}

function parsePattern(path: string): Segment[] {
  if (!path.startsWith('/')) throw new Fault('malformed', `The route path "${path}" must start with "/".`)
  return path
    .slice(1)
    .split('/')
    .map((text) => {
      const [, name, plus] = /^\{(\w+)(\+?)\}$/.exec(text) ?? []
      if (name !== undefined) return { name, isMany: plus === '+' }
      if (!/[{}]/.test(text)) return text
      throw new Fault('malformed', `In the route path "${path}" a parameter must be a whole segment, such as {id}.`)
    })
}

function entryOf(route: Route, segments: readonly Segment[]): RouteEntry {
  const handles = new Map<string, Handle>(Object.entries(route.methods))
  const get = handles.get('GET')
  if (get) handles.set('HEAD', get)
  return { handles, allow: [...handles.keys()], refuse: route.refuse, segments, accepts: route.accepts }
}
