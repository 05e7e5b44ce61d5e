/** A plain HTML page that lists the tools. It has no scripts and loads no other files. */
import type { Answer, Exchange } from '../../core/ports/exchange.ts'
import { escapeHtml } from '../../wire/http/pages.ts'
import type { ToolSummary } from './wire.ts'

export interface PageSettings {
  title: string
  projectName?: string
  projectUrl?: string
  allowExecute: boolean
  /** Shows the list in another page, for browsers without scripts. `list` is HTML, and `title` is text. */
  frame?: (exchange: Exchange, title: string, list: string) => Answer
}

const HEADERS: Record<string, string> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
}

/** How many tools are listed inside another page. */
const MAX_FRAMED = 500

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}
dt{font:600 1rem ui-monospace,monospace;margin-top:1rem}dd{margin:0}small,dd{color:GrayText}:root{color-scheme:light dark}`

/** `prefix` is the path of the page without a trailing slash. */
export function pageAnswer(
  tools: readonly ToolSummary[],
  exchange: Exchange,
  prefix: string,
  settings: PageSettings,
): Answer {
  const { title, frame } = settings
  // The other page has scripts, which nearly all browsers run. They should not have to load thousands of entries first.
  const list = renderList(tools, `${exchange.origin}${prefix}`, settings, frame ? MAX_FRAMED : tools.length)
  return frame?.(exchange, title, list) ?? { status: 200, headers: HEADERS, body: renderPage(title, list) }
}

function renderPage(title: string, list: string): string {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>`,
    `<body>${list}`,
    '</body></html>',
  ].join('\n')
}

function renderList(
  tools: readonly ToolSummary[],
  base: string,
  { title, projectName, projectUrl, allowExecute }: PageSettings,
  limit: number,
): string {
  const items = tools
    .slice(0, limit)
    .map(
      ({ name, description }) =>
        `<dt><a href="${escapeHtml(`${base}/tools/${encodeURIComponent(name)}`)}">${escapeHtml(name)}</a></dt><dd>${escapeHtml(description)}</dd>`,
    )
  const project = projectLink(projectName, projectUrl)
  return [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p>${tools.length} tools. Execution is ${allowExecute ? 'enabled' : 'disabled'}.</p>`,
    items.length > 0 ? `<dl>${items.join('\n')}</dl>` : '',
    tools.length > limit ? `<p><a href="${escapeHtml(base)}/tools">All ${tools.length} tools</a></p>` : '',
    project === '' ? '' : `<p><small>${project}</small></p>`,
  ].join('\n')
}

/** Returns a link if the address cannot run a script. Otherwise returns only the name. */
function projectLink(name: string | undefined, url: string | undefined): string {
  const shown = escapeHtml(name ?? url ?? '')
  const address = (url ?? '').replace(/[\t\n\r]/g, '').trim()
  if (!/^(?:https?:\/\/|mailto:|\/)/i.test(address)) return shown
  return `<a href="${escapeHtml(address)}" rel="noopener noreferrer">${shown}</a>`
}
