/** JSON text with colours. Long text is cut: a large node tree would make the page slow. */
import type { ComponentChildren } from 'preact'
import { seenParts } from './seen-text.tsx'

const MAX_COLOURED = 20_000
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*|true|false|null)/g

/** `text` is shown as it is if it is no JSON. */
export function JsonView({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
    <section class="json" tabIndex={0} aria-label={label}>
      <pre>{text.length > MAX_COLOURED ? seenParts(text) : coloured(text)}</pre>
    </section>
  )
}

export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const found of text.matchAll(TOKEN)) {
    const [all, string, colon, value] = found
    if (found.index > end) parts.push(seenParts(text.slice(end, found.index)))
    if (string && colon) parts.push(<span class="key">{seenParts(string)}</span>, colon)
    else if (string) parts.push(<span class="text">{seenParts(string)}</span>)
    else parts.push(<span class="value">{value}</span>)
    end = found.index + all.length
  }
  if (end < text.length) parts.push(seenParts(text.slice(end)))
  return parts
}
