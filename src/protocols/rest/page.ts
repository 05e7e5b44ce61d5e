/** A plain HTML page that lists the tools. It has no scripts and loads no other files. */
import type { Answer } from '../../core/ports/exchange.ts'
import type { ToolSummary } from './wire.ts'

export interface PageSettings {
  title: string
  projectName?: string
  projectUrl?: string
  allowExecute: boolean
}

const HEADERS: Record<string, string> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}
dt{font:600 1rem ui-monospace,monospace;margin-top:1rem}dd{margin:0}small,dd{color:GrayText}:root{color-scheme:light dark}`

/** `base` is the page's address without a trailing slash. */
export function pageAnswer(tools: readonly ToolSummary[], base: string, settings: PageSettings): Answer {
  return { status: 200, headers: HEADERS, body: renderPage(tools, base, settings) }
}

function renderPage(
  tools: readonly ToolSummary[],
  base: string,
  { title, projectName, projectUrl, allowExecute }: PageSettings,
) {
  const heading = escapeHtml(title)
  const items = tools.map(
    ({ name, description }) =>
      `<dt><a href="${escapeHtml(`${base}/tools/${encodeURIComponent(name)}`)}">${escapeHtml(name)}</a></dt><dd>${escapeHtml(description)}</dd>`,
  )
  const project = projectLink(projectName, projectUrl)
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<title>${heading}</title><style>${STYLE}</style></head>`,
    `<body><h1>${heading}</h1>`,
    `<p>${tools.length} tools. Execution is ${allowExecute ? 'enabled' : 'disabled'}.</p>`,
    items.length > 0 ? `<dl>${items.join('\n')}</dl>` : '',
    project === '' ? '' : `<p><small>${project}</small></p>`,
    '</body></html>',
  ].join('\n')
}

/** Returns a link if the address cannot run a script. Otherwise returns only the name. */
function projectLink(name: string | undefined, url: string | undefined): string {
  const shown = escapeHtml(name ?? url ?? '')
  const address = (url ?? '').replace(/[\t\n\r]/g, '').trim()
  if (!/^(?:https?:\/\/|mailto:|\/)/i.test(address)) return shown
  return `<a href="${escapeHtml(address)}" rel="noopener noreferrer">${shown}</a>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
