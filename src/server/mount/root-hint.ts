/**
 * The response to `GET /`, for a person who opens the address of the server. It names public paths only. The version is
 * told by a server without authentication only: it helps attackers, and strangers cannot reach such a server.
 */
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import { escapeHtml } from '../../wire/http/pages.ts'

const SHARED_HEADERS = { 'Cache-Control': 'no-store', Vary: 'Accept' }
const HTML_HEADERS = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': "default-src 'none'" }

/** Each with its path and its description. */
const PLACES = {
  registry: ['/.well-known/ops', 'the operations, with their schemas'],
  call: ['/call', 'where operations are called (POST)'],
  explorer: ['/explorer', 'a page to try them, and to see their calls'],
  mcp: ['/mcp', 'the same operations as tools for agents'],
} as const

const DOCS = 'node_modules/callplane/docs/README.md'

/** `undefined` for another request than one for the root. */
export function rootHint(exchange: Exchange, version?: string): Answer | undefined {
  const { method, path, origin } = exchange
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return undefined
  const name = version === undefined ? 'Callplane' : `Callplane ${version}`
  const places = Object.entries(PLACES).map(([what, [at, why]]) => ({ what, url: origin + at, why }))
  const accepted = exchange.header('accept') ?? ''
  if (/\btext\/html\b/i.test(accepted)) return answer(HTML_HEADERS, asHtml(name, places))
  if (/\bapplication\/json\b/i.test(accepted)) {
    const urls = Object.fromEntries(places.map(({ what, url }) => [what, url]))
    const document = { name: 'Callplane', ...(version !== undefined && { version }), ...urls, docs: DOCS }
    return answer({ 'Content-Type': 'application/json' }, JSON.stringify(document))
  }
  return answer({ 'Content-Type': 'text/plain; charset=utf-8' }, asText(name, places))
}

interface Place {
  what: string
  url: string
  why: string
}

function answer(headers: Record<string, string>, body: string): Answer {
  return { status: 200, headers: { ...headers, ...SHARED_HEADERS }, body }
}

function asText(name: string, places: readonly Place[]): string {
  const lines = places.map(({ what, url, why }) => `${what.padEnd(10)}${url}  ${why}`)
  return `${name}\n\n${lines.join('\n')}\n${'docs'.padEnd(10)}${DOCS}\n`
}

function asHtml(name: string, places: readonly Place[]): string {
  const items = places.map(({ url, why }) => `<li><a href="${escapeHtml(url)}">${escapeHtml(url)}</a>: ${why}`)
  return `<!doctype html><title>${name}</title><h1>${name}</h1><ul>${items.join('')}<li>Documentation: ${DOCS}</ul>\n`
}
