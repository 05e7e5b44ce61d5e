/** What HTML pages of several parts of the server share. */
import type { Answer } from '../../core/ports/exchange.ts'

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

/**
 * Redirects to the same path with a slash, so that relative addresses in the page work. The address is relative, too: it
 * is right below any mount path and behind any proxy.
 */
export function redirectInto(path: string): Answer {
  const headers = { Location: `${path.slice(path.lastIndexOf('/') + 1)}/`, 'Cache-Control': 'no-store' }
  return { status: 302, headers }
}
