/** One row of JSON with colours. */
import type { ComponentChildren } from 'preact'
import { seenParts } from '../../design/seen-text.tsx'
import { endOfString } from '../wires/json-slice.ts'

export function JsonTokens({ text }: { text: string }) {
  const parts: ComponentChildren[] = []
  let rest = text
  if (text[0] === '"') {
    const end = endOfString(text, 0)
    if (text.startsWith(': ', end)) {
      parts.push(<span class="key">{seenParts(text.slice(0, end))}</span>, ': ')
      rest = text.slice(end + 2)
    }
  }
  const comma = rest.endsWith(',') ? ',' : ''
  const value = comma ? rest.slice(0, -1) : rest
  if (value[0] === '"') parts.push(<span class="text">{seenParts(value)}</span>)
  else if (/^[-\dtfn]/.test(value)) parts.push(<span class="value">{value}</span>)
  else parts.push(seenParts(value))
  return (
    <>
      {parts}
      {comma}
    </>
  )
}
